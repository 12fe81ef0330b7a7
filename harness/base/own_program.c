// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/own_program.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/trusted_path.h"

int jp_find_program_beside(char path[PATH_MAX], const char *name, struct jp_error *err)
{
	char real_path[PATH_MAX], *end;
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);

	if (length < 0)
		return jp_fail(err, errno, "/proc/self/exe: %s", strerror(errno));
	path[length] = '\0';
	end = strrchr(path, '/') + 1;
	if (end - path + strlen(name) >= PATH_MAX)
		return jp_fail(err, ENAMETOOLONG, "%s: the program's path is too long", name);
	strcpy(end, name);
	if (access(path, X_OK))
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	return jp_trusted_find_file(path, real_path, sizeof(real_path), err);
}
