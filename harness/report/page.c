// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/page.h"

#include <string.h>

/* Made by the Makefile from the files of harness/report/page/: the part before the data, and the
 * part after it. */
extern const char jp_page_head[], jp_page_head_end[], jp_page_tail[], jp_page_tail_end[];

void jp_page_write(FILE *out, const char *json)
{
	fwrite(jp_page_head, 1, (size_t)(jp_page_head_end - jp_page_head), out);
	/* In JSON '<' occurs only in strings. Escaped, it cannot end the script element. */
	while (*json) {
		const size_t length = strcspn(json, "<");

		fwrite(json, 1, length, out);
		json += length;
		if (*json) {
			fputs("\\u003c", out);
			json++;
		}
	}
	fwrite(jp_page_tail, 1, (size_t)(jp_page_tail_end - jp_page_tail), out);
}
