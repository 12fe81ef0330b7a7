// SPDX-License-Identifier: GPL-2.0-only
/* Replacing control characters and invalid UTF-8 in names from untrusted files. */
#include "harness/base/printable.h"
#include "harness/selftest/support/check.h"

static const struct {
	const char *label, *text, *expected;
} texts[] = {
	{"plain text", "a b~", "a b~"},
	{"an empty text", "", ""},
	{"UTF-8 letters of all sizes", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
	 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
	{"control characters", "\001a\033[2J\177", "?a?[2J?"},
	{"C1 control characters", "\xc2\x80 \xc2\x9f\xc2\xa0", "?? ??\xc2\xa0"},
	{"line separators", "a\nb\xe2\x80\xa8", "a?b???"},
	{"bidirectional marks", "\xe2\x80\x8e\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9\xd8\x9c",
	 "??????????????"},
	{"characters next to bidirectional marks",
	 "\xe2\x80\x8d\xe2\x80\x90\xe2\x80\xaf\xe2\x81\xaa\xd8\x9b",
	 "\xe2\x80\x8d\xe2\x80\x90\xe2\x80\xaf\xe2\x81\xaa\xd8\x9b"},
	{"invalid UTF-8",
	 "\xff"
	 "a\xc3(\xe2\x82",
	 "?a?(??"},
};

/* Returns the text that @write_text writes for @text; the caller frees it. */
static char *write_to_memory(void (*write_text)(FILE *out, const char *text), const char *text)
{
	char *bytes = NULL;
	size_t size;
	FILE *out = open_memstream(&bytes, &size);

	if (!out)
		exit(99);
	write_text(out, text);
	fclose(out);
	return bytes;
}

static void put_run(FILE *out, const char *text)
{
	const char *end = jp_printable_put_prefix(out, text);

	fprintf(out, "|%d", (int)(end - text));
}

TEST(printable)
{
	char *bytes;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char text[64], *newline;

		bytes = write_to_memory(jp_printable_put, texts[i].text);
		check(!strcmp(bytes, texts[i].expected), "%s are printed safely", texts[i].label);
		strcpy(text, texts[i].text);
		jp_printable(text);
		/* jp_printable() keeps line feeds. */
		while ((newline = strchr(text, '\n')))
			*newline = '?';
		check(!strcmp(text, bytes), "%s are replaced in place", texts[i].label);
		free(bytes);
	}
	check(strchr(jp_printable((char[]){"a\nb"}), '\n') != NULL, "line feeds stay in place");
	bytes = write_to_memory(put_run, "ab\xc3\xa9\ncd");
	check(!strcmp(bytes, "ab\xc3\xa9|4"), "a printable run ends at a control character");
	free(bytes);
	bytes = write_to_memory(put_run, "ab");
	check(!strcmp(bytes, "ab|2"), "a run of printable characters ends with the text");
	free(bytes);
}
