// SPDX-License-Identifier: GPL-2.0-only
/* Measuring the width of terminals, and shortening texts to a width. */
#include "harness/base/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include "harness/selftest/support/check.h"

static const struct {
	const char *text;
	size_t columns;
	enum jp_terminal_cut cut;
	const char *expected;
} texts[] = {
	{"/a/long/path/file", 17, JP_CUT_MIDDLE, "/a/long/path/file"},
	{"/a/long/path/file", 16, JP_CUT_MIDDLE, "/a/lon...th/file"},
	{"/a/long/path/file", 9, JP_CUT_MIDDLE, "/a/...ile"},
	{"a sentence", 10, JP_CUT_END, "a sentence"},
	{"a sentence", 9, JP_CUT_END, "a sent..."},
	{"", 8, JP_CUT_END, ""},
	{"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 8, JP_CUT_END,
	 "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"},
	{"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9z", 8, JP_CUT_MIDDLE,
	 "\xc3\xa9\xc3\xa9...\xc3\xa9\xc3\xa9z"},
	{"a\033[2J\xff\nb", 80, JP_CUT_END, "a?[2J??b"},
};

TEST(width)
{
	struct winsize size = {.ws_col = 132};
	int terminal = posix_openpt(O_RDWR | O_NOCTTY), file = open("/dev/null", O_RDWR);

	unsetenv("COLUMNS");
	check(jp_terminal_width(file) == 80, "other files have 80 columns");
	check(terminal < 0 || jp_terminal_width(terminal) == 80, "as has a terminal without size");
	check(terminal < 0 || ioctl(terminal, TIOCSWINSZ, &size) ||
		      jp_terminal_width(terminal) == 132,
	      "a terminal has its own width");
	setenv("COLUMNS", "100", 1);
	check(jp_terminal_width(file) == 100, "COLUMNS decides");
	setenv("COLUMNS", "none", 1);
	check(jp_terminal_width(file) == 80, "unless it is no number");
	setenv("COLUMNS", "3", 1);
	check(jp_terminal_width(file) == 80, "or too small for anything");
}

static const struct {
	const char *text, *expected;
} wrapped[] = {
	{"", "\n"},
	{"one two", "one two\n"},
	{"0123456789 12345", "0123456789\n  12345\n"},
	{"01234567 1 23", "01234567 1\n  23\n"},
	{"  a   b ", "a b\n"},
	{"a /usr/lib/long", "a\n  /us...long\n"},
};

TEST(words)
{
	for (size_t i = 0; i < sizeof(wrapped) / sizeof(*wrapped); i++) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		if (!out)
			exit(99);
		jp_terminal_put_words(out, wrapped[i].text, 2, 12);
		fclose(out);
		check(!strcmp(text, wrapped[i].expected), "'%s' in 10 columns", wrapped[i].text);
		free(text);
	}
}

TEST(terminal)
{
	char out[100], small[16];

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		check(!strcmp(jp_terminal_shorten(texts[i].text, texts[i].columns, texts[i].cut,
						  out, sizeof(out)),
			      texts[i].expected),
		      "%s", texts[i].expected);
	jp_terminal_shorten("abcdefghijklmnopqrstuvwxyz", 80, JP_CUT_END, small, sizeof(small));
	check(strlen(small) < sizeof(small) && !strncmp(small, "abcdefg", 7), "a small room holds");
}
