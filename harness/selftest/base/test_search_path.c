// SPDX-License-Identifier: GPL-2.0-only
/* What PATH keeps for root. */
#include <sys/wait.h>

#include "harness/base/search_path.h"
#include "harness/selftest/support/scratch.h"

static char own[128], anyones[128], sticky[128], theirs[128];

/* In a process of its own: it is done once. */
static bool gives(const char *before, const char *after, uid_t user)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		int null = open("/dev/null", O_WRONLY);
		const char *now = NULL;

		dup2(null, STDERR_FILENO);
		setenv("PATH", before, 1);
		if (user && setresuid(user, user, user))
			_exit(2);
		for (char **each = jp_search_path_environment(); *each; each++)
			if (!strncmp(*each, "PATH=", 5))
				now = *each + 5;
		_exit(!now || strcmp(now, after) || strcmp(getenv("PATH"), before));
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

/* Whether @name=@value is left to root. */
static bool leaves_to(const char *name, const char *value)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		int null = open("/dev/null", O_WRONLY);
		bool found = false;

		dup2(null, STDERR_FILENO);
		setenv(name, value, 1);
		for (char **each = jp_search_path_environment(); *each; each++)
			found |= !strncmp(*each, name, strlen(name)) &&
				 !strcmp(*each + strlen(name) + 1, value);
		_exit(!found);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static bool leaves(const char *value)
{
	return leaves_to("JITPROOF_ONE", value);
}

static void make(char *path, size_t size, const char *name, mode_t mode)
{
	snprintf(path, size, "%s", scratch_path(name));
	check(!mkdir(path, 0755) && !chmod(path, mode), "%s, %o", name, mode);
}

int main(void)
{
	char path[1024], kept[512];

	snprintf(own, sizeof(own), "%s", scratch_make("own"));
	check(!mkdir(own, 0755), "own");
	make(anyones, sizeof(anyones), "anyone's", 0777);
	make(sticky, sizeof(sticky), "sticky", 01777);
	make(theirs, sizeof(theirs), "theirs", 0755);
	if (geteuid() || chown(theirs, 65534, 65534)) {
		check(true, "# SKIP only root's is changed");
		return check_done();
	}
	snprintf(path, sizeof(path), "%s:%s:/usr/bin:%s:", theirs, own, anyones);
	snprintf(kept, sizeof(kept), "%s:/usr/bin", own);
	check(gives(path, kept, 0), "another's, anyone's and the working directory go");
	check(gives(path, path, 65534), "an ordinary user's stays");
	snprintf(path, sizeof(path), "bin:/usr/bin:%s:./x:/nowhere/at/all", sticky);
	check(gives(path, "/usr/bin", 0),
	      "so does what is relative, anyone's by name, or not there");
	check(gives(theirs, "/", 0), "nothing is left, and not the working directory");
	check(gives("/usr/bin:/bin", "/usr/bin:/bin", 0), "nothing to do");
	check(leaves("/bin/sh") && leaves(own) && leaves("words") && leaves("/nowhere/at/all"),
	      "variables of ours that name what is ours, or nothing, stay");
	check(!leaves(theirs) && !leaves(sticky) && !leaves(anyones), "others' folders go");
	check(leaves_to("TMPDIR", sticky) && leaves_to("TMPDIR", own) &&
		      !leaves_to("TMPDIR", theirs) && !leaves_to("TMPDIR", anyones),
	      "so does a TMPDIR of others");
	snprintf(path, sizeof(path), "%s/program", theirs);
	check(scratch_write(path, "", 0) && !leaves(path), "so does a program there");
	return check_done();
}
