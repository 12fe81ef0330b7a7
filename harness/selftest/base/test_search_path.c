// SPDX-License-Identifier: GPL-2.0-only
/* Tests which folders of PATH and which variables root's environment for programs keeps. */
#include <sys/wait.h>

#include "harness/base/search_path.h"
#include "harness/selftest/support/scratch.h"

static char own_folder[128], anyones[128], sticky[128], foreign_folder[128];

/* Returns whether the variable @name=@before of @user becomes @after for programs, and stays
 * unchanged for this process. Runs in a child, since the environment is made only once. */
static bool variable_becomes(const char *name, const char *before, const char *after, uid_t user)
{
	const size_t length = strlen(name);
	pid_t pid = fork();
	int status;

	if (!pid) {
		int null = open("/dev/null", O_WRONLY);
		const char *value = NULL;

		dup2(null, STDERR_FILENO);
		setenv(name, before, 1);
		if (user && setresuid(user, user, user))
			_exit(2);
		for (char **variable = jp_search_path_environment(); *variable; variable++)
			if (!strncmp(*variable, name, length) && (*variable)[length] == '=')
				value = *variable + length + 1;
		_exit(!value || strcmp(value, after) || strcmp(getenv(name), before));
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static bool path_becomes(const char *before, const char *after, uid_t user)
{
	return variable_becomes("PATH", before, after, user);
}

static bool keeps_variable(const char *name, const char *value)
{
	return variable_becomes(name, value, value, 0);
}

static bool keeps_value(const char *value)
{
	return keeps_variable("JITPROOF_ONE", value);
}

static void make_folder(char *path, size_t size, const char *name, mode_t mode)
{
	snprintf(path, size, "%s", scratch_path(name));
	check(!mkdir(path, 0755) && !chmod(path, mode), "folder %s of mode %o is made", name, mode);
}

TEST(search_path)
{
	char path[1024], expected[512];

	snprintf(own_folder, sizeof(own_folder), "%s", scratch_make("own"));
	check(!mkdir(own_folder, 0755), "root's own folder is made");
	make_folder(anyones, sizeof(anyones), "anyone's", 0777);
	make_folder(sticky, sizeof(sticky), "sticky", 01777);
	make_folder(foreign_folder, sizeof(foreign_folder), "theirs", 0755);
	if (geteuid() || chown(foreign_folder, 65534, 65534)) {
		check(true, "PATH is cleaned # SKIP only root's is changed");
		return;
	}
	snprintf(path, sizeof(path), "%s:%s:/usr/bin:%s:", foreign_folder, own_folder, anyones);
	snprintf(expected, sizeof(expected), "%s:/usr/bin", own_folder);
	check(path_becomes(path, expected, 0),
	      "others' folders and the working directory are removed");
	check(path_becomes(path, path, 65534), "an ordinary user's PATH is unchanged");
	snprintf(path, sizeof(path), "bin:/usr/bin:%s:./x:/nowhere/at/all", sticky);
	check(path_becomes(path, "/usr/bin", 0), "relative, sticky, missing folders are removed");
	check(path_becomes(foreign_folder, "/", 0),
	      "an empty PATH becomes /, not the working directory");
	check(path_becomes("/usr/bin:/bin", "/usr/bin:/bin", 0), "a safe PATH is unchanged");
	check(keeps_value("/bin/sh") && keeps_value(own_folder) && keeps_value("words") &&
		      keeps_value("/nowhere/at/all"),
	      "variables that name root's files, or no file, are kept");
	check(!keeps_value(foreign_folder) && !keeps_value(sticky) && !keeps_value(anyones),
	      "variables that name folders of others are removed");
	check(keeps_variable("TMPDIR", sticky) && keeps_variable("TMPDIR", own_folder) &&
		      !keeps_variable("TMPDIR", foreign_folder) &&
		      !keeps_variable("TMPDIR", anyones),
	      "TMPDIR may be a sticky folder, but not another folder of others");
	snprintf(path, sizeof(path), "%s/program", foreign_folder);
	check(scratch_write(path, "", 0) && !keeps_value(path),
	      "a variable that names a program in a folder of others is removed");
}
