// SPDX-License-Identifier: GPL-2.0-only
/* Choosing names by the words of a command line. */
#include "harness/base/globs.h"

#include "harness/selftest/support/check.h"

static const char *const case_names[] = {"growth/anon", "growth/anon.map", "files/grow", "a[1]"};

/* Returns the names that @word selects, as bits, or ~0 if @word was refused. */
static unsigned int choose_names(const char *word, struct jp_error *err)
{
	jp_cleanup_arguments struct jp_arguments names = {0}, globs = {0};
	char *list[] = {(char *)word};
	unsigned int nr_chosen = 0;

	for (size_t i = 0; i < sizeof(case_names) / sizeof(*case_names); i++)
		jp_arguments_add(&names, "%s", case_names[i]);
	if (jp_globs_read(&globs, &(struct jp_operands){list, word ? 1 : 0}, &names, "case", err))
		return ~0U;
	for (size_t i = 0; i < sizeof(case_names) / sizeof(*case_names); i++)
		nr_chosen |= (unsigned int)jp_globs_match(&globs, case_names[i]) << i;
	return nr_chosen;
}

TEST(globs)
{
	struct jp_error err = {""};

	check(choose_names(NULL, &err) == 15, "no word chooses all");
	check(choose_names("growth/anon", &err) == 1, "a whole name chooses itself alone");
	check(choose_names("grow", &err) == 7, "a part chooses all names that hold it");
	check(choose_names("growth/*", &err) == 3, "a pattern matches whole names");
	check(choose_names("gro?", &err) == ~0U, "and no parts of them");
	check(choose_names("a[[]1]", &err) == 8, "a bracket makes a pattern");
	check(choose_names("growht/anon", &err) == ~0U &&
		      !strcmp(err.text, "no case matches 'growht/anon'; did you mean "
					"'growth/anon'?"),
	      "a mistyped name is refused with a suggestion");
	check(choose_names("flies", &err) == ~0U &&
		      !strcmp(err.text, "no case matches 'flies'; did you mean 'files'?"),
	      "the part before a slash is suggested");
	check(choose_names("gorw", &err) == ~0U &&
		      !strcmp(err.text, "no case matches 'gorw'; did you mean 'grow'?"),
	      "and the part behind it");
}
