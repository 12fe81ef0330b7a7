// SPDX-License-Identifier: GPL-2.0-only
/* Which folders of a run directory are cases. */
#include "harness/outcome/case_folders.h"

#include "harness/selftest/support/scratch.h"

static void finds(const char *what, const char *dir, const char *const *expected, size_t count)
{
	struct jp_case_folders folders = {.count = 0};
	bool same = !jp_case_folders_find(&folders, dir) && folders.count == count;

	for (size_t i = 0; same && i < count; i++)
		same = !strcmp(folders.paths[i], expected[i]);
	check(same, "%s", what);
	jp_case_folders_free(&folders);
}

int main(void)
{
	static const char *const made[] = {"run",         "run/b", "run/b/b",  "run/b/a",
					   "run/b/a/a",   "run/c", "run/c/a",  "run/c/a/a",
					   "run/c/a/a/a", "run/a", "run/.old", "run/d",
					   "run/d/case"};
	static const char *const cases[] = {"run/b/b/case",   "run/b/a/case",     "run/b/a/a/case",
					    "run/c/a/a/case", "run/c/a/a/a/case", "run/a/case",
					    "run/.old/case"};
	const char *run = scratch_make("run");

	for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++)
		if (mkdir(scratch_path(made[i]), 0700))
			return 99;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (!scratch_write(scratch_path(cases[i]), "", 0))
			return 99;
	if (symlink("a", scratch_path("run/link")))
		return 99;
	finds("two levels deep, in the order of names, and not by links", run,
	      (const char *[]){scratch_path("run/a"), scratch_path("run/b/a"),
			       scratch_path("run/b/b")},
	      3);
	finds("a case itself, and nothing in it", scratch_path("run/b/a"),
	      (const char *[]){scratch_path("run/b/a")}, 1);
	finds("two levels from where it begins", scratch_path("run/c"),
	      (const char *[]){scratch_path("run/c/a/a")}, 1);
	finds("none where case is a folder", scratch_path("run/d"), NULL, 0);
	check(jp_case_folders_find(&(struct jp_case_folders){.count = 0},
				   scratch_path("run/gone")) == -ENOENT,
	      "what is not there cannot be read");
	return check_done();
}
