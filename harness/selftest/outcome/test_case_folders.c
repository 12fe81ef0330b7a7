// SPDX-License-Identifier: GPL-2.0-only
/* Finding the case folders of a run directory. */
#include "harness/outcome/case_folder.h"

#include "harness/selftest/support/scratch.h"

static void check_folders(const char *label, const char *dir, const char *const *expected,
			  size_t count)
{
	jp_cleanup_arguments struct jp_arguments folders = {0};
	bool is_same = !jp_case_folders_find(&folders, dir) && folders.count == count;

	for (size_t i = 0; is_same && i < count; i++)
		is_same = !strcmp(folders.list[i], expected[i]);
	check(is_same, "%s", label);
}

TEST(case_folders)
{
	static const char *const paths[] = {"run",         "run/b", "run/b/b",  "run/b/a",
					    "run/b/a/a",   "run/c", "run/c/a",  "run/c/a/a",
					    "run/c/a/a/a", "run/a", "run/.old", "run/d",
					    "run/d/case"};
	static const char *const cases[] = {"run/b/b/case",   "run/b/a/case",     "run/b/a/a/case",
					    "run/c/a/a/case", "run/c/a/a/a/case", "run/a/case",
					    "run/.old/case"};
	const char *run = scratch_make("run");

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (mkdir(scratch_path(paths[i]), 0700))
			exit(99);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (!scratch_write(scratch_path(cases[i]), "", 0))
			exit(99);
	if (symlink("a", scratch_path("run/link")))
		exit(99);
	check_folders("cases are found two levels deep, sorted by name, without links", run,
		      (const char *[]){scratch_path("run/a"), scratch_path("run/b/a"),
				       scratch_path("run/b/b")},
		      3);
	check_folders("a case folder is found itself, without those in it", scratch_path("run/b/a"),
		      (const char *[]){scratch_path("run/b/a")}, 1);
	check_folders("cases are found two levels below the given folder", scratch_path("run/c"),
		      (const char *[]){scratch_path("run/c/a/a")}, 1);
	check_folders("a folder named case makes no case", scratch_path("run/d"), NULL, 0);
	check(jp_case_folders_find(&(struct jp_arguments){0}, scratch_path("run/gone")) == -ENOENT,
	      "a missing folder is an error");
}
