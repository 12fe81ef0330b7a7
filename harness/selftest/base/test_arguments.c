// SPDX-License-Identifier: GPL-2.0-only
/* Command lines of any length. */
#include "harness/base/arguments.h"
#include "harness/selftest/support/check.h"

TEST(arguments)
{
	char *extra_words[] = {"%s", "", NULL};
	struct jp_arguments arguments = {0};
	bool passed = true;

	jp_arguments_add_all(&arguments, NULL);
	check(!arguments.list && !arguments.count, "a new command line is empty");
	for (int i = 0; i < 100; i++)
		jp_arguments_add(&arguments, "--number=%d", i);
	for (int i = 0; i < 100; i++)
		passed = passed && !strncmp(arguments.list[i], "--number=", 9);
	check(passed && arguments.count == 100 && !strcmp(arguments.list[99], "--number=99") &&
		      !arguments.list[100] && !arguments.failed,
	      "a hundred arguments are followed by NULL");
	jp_arguments_add_all(&arguments, extra_words);
	check(arguments.count == 102 && !strcmp(arguments.list[100], "%s") &&
		      arguments.list[100] != extra_words[0] && !*arguments.list[101] &&
		      !arguments.list[102],
	      "arguments are copied unchanged, even an empty one");
	jp_arguments_free(&arguments);
	check(!arguments.list && !arguments.count, "a freed command line is empty");
}
