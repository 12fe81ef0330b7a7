// SPDX-License-Identifier: GPL-2.0-only
/* Finding a program in the folder of the running program. */
#include "harness/base/own_program.h"

#include <unistd.h>

#include "harness/selftest/support/check.h"

TEST(own_program)
{
	char path[PATH_MAX], own_path[PATH_MAX], name[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);
	struct jp_error err = {""};

	check(length > 0, "the program has a path");
	own_path[length > 0 ? length : 0] = '\0';
	check(!jp_find_program_beside(path, strrchr(own_path, '/') + 1, &err) &&
		      strcmp(path, own_path) == 0,
	      "the running program is in its folder");
	check(jp_find_program_beside(path, "no-such-program", &err) == -ENOENT &&
		      strstr(err.text, "no-such-program"),
	      "a program that is not there");
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	check(jp_find_program_beside(path, name, &err) == -ENAMETOOLONG, "a name that is too long");
}
