// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/page.h"

#include <stdbool.h>
#include <string.h>

/* The parts of the page before and after the data. The Makefile makes them from the files in
 * harness/report/page/. */
extern const char jp_page_head[], jp_page_head_end[], jp_page_tail[], jp_page_tail_end[];

/* Writes @json without the spaces between values, which are a fifth of a large picture, and escapes
 * each '<', which occurs only in strings, so that no string can end the script element. */
static void write_compact(FILE *out, const char *json)
{
	bool string = false;

	for (; *json; json++) {
		const size_t length = strcspn(json, string ? "<\"\\" : " \"");

		fwrite(json, 1, length, out);
		json += length;
		if (!*json)
			return;
		if (*json == '"')
			string = !string;
		if (*json == '<')
			fputs("\\u003c", out);
		else if (*json != ' ')
			putc(*json, out);
		/* A quote after a backslash does not end the string. */
		if (*json == '\\' && json[1])
			putc(*++json, out);
	}
}

void jp_page_write(FILE *out, const char *json)
{
	fwrite(jp_page_head, 1, (size_t)(jp_page_head_end - jp_page_head), out);
	write_compact(out, json);
	fwrite(jp_page_tail, 1, (size_t)(jp_page_tail_end - jp_page_tail), out);
}
