// SPDX-License-Identifier: GPL-2.0-only
/* Suggesting names for mistyped words. */
#include "harness/base/nearest.h"

#include "harness/selftest/support/check.h"

static const char *const names[] = {"explain",          "judge",  "list",  "run",
				    "--frame-pointers", "abcdef", "abcdeg"};
static const struct {
	const char *word, *hint;
} words[] = {
	{"rnu", "; did you mean 'run'?"},
	{"jude", "; did you mean 'judge'?"},
	{"lists", "; did you mean 'list'?"},
	{"explian", "; did you mean 'explain'?"},
	{"xeplani", "; did you mean 'explain'?"},
	{"--framepointer", "; did you mean '--frame-pointers'?"},
	{"abcdeh", "; did you mean 'abcdef'?"},
	{"abcdeg", "; did you mean 'abcdeg'?"},
	{"ju", ""},
	{"eplani", "; did you mean 'explain'?"},
	{"nialpxe", ""},
	{"", ""},
	{"record", ""},
};

static const char *find_hint(const char *word, char *text, size_t size)
{
	struct jp_nearest nearest = {.word = word};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		jp_nearest_compare(&nearest, names[i]);
	return jp_nearest_hint(&nearest, text, size);
}

TEST(nearest)
{
	char text[80], word[200];

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		check(strcmp(find_hint(words[i].word, text, sizeof(text)), words[i].hint) == 0,
		      "'%s' gives '%s'", words[i].word, words[i].hint);
	memset(word, 'r', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	check(!*find_hint(word, text, sizeof(text)), "a long word is like no name");
	word[79] = '\0';
	check(!*find_hint(word, text, sizeof(text)), "nor is one of 79 letters");
	check(strlen(find_hint("rnu", text, 10)) == 9, "a hint fits its room");
}
