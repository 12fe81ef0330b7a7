// SPDX-License-Identifier: GPL-2.0-only
/* Files of a process in other namespaces: by its own root, and by its own number. */
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "harness/model/files/file_finder.h"
#include "harness/model/files/residence.h"
#include "harness/selftest/support/scratch.h"

#define MAP "10 10 inner\n"

/* The first process of its namespace, with a perf map on a /tmp of its own; then waits. */
static void live_there(int ready, int release)
{
	char byte = 0;

	if (getpid() == 1 && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	    !mount("none", "/tmp", "tmpfs", 0, NULL))
		byte = scratch_write("/tmp/perf-1.map", MAP, strlen(MAP)) &&
		       scratch_write("/tmp/only-here", "", 0);
	if (write(ready, &byte, 1) == 1 && read(release, &byte, 1) < 0)
		_exit(1);
	_exit(0);
}

/* Starts it below a process of new namespaces; its pid here, or 0: it cannot be. */
static pid_t start(pid_t *above, int *release)
{
	int ready[2], hold[2], told[2];
	pid_t pid = 0;
	char byte = 0;

	if (pipe(ready) || pipe(hold) || pipe(told) || (*above = fork()) < 0)
		exit(99);
	if (!*above) {
		int flags = CLONE_NEWNS | CLONE_NEWPID | (geteuid() ? CLONE_NEWUSER : 0);

		close(hold[1]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(flags) || (pid = fork()) < 0)
			_exit(1);
		if (!pid)
			live_there(ready[1], hold[0]);
		if (write(told[1], &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		_exit(waitpid(pid, NULL, 0) != pid);
	}
	close(ready[1]);
	close(told[1]);
	close(hold[0]);
	if (read(told[0], &pid, sizeof(pid)) != sizeof(pid) || read(ready[0], &byte, 1) != 1)
		byte = 0;
	close(ready[0]);
	close(told[0]);
	*release = hold[1];
	return byte ? pid : 0;
}

static void elsewhere(uint32_t pid)
{
	struct jp_residence residence = {.root = -1, .inner = pid};
	struct jp_file_finder *finder = jp_file_finder_new();
	struct jp_found_file found;
	char path[64], there[16] = "";

	jp_residence_of(pid, &residence);
	check(residence.root >= 0 && residence.inner == 1, "it has a root, and is called %u there",
	      residence.inner);
	close(STDIN_FILENO); /* for its root: 0 is a descriptor like others */
	check(jp_file_finder_residence(finder, pid) == pid &&
		      !jp_file_finder_residence(finder, (uint32_t)getpid()),
	      "it sees other files than we do");
	check(!jp_file_find_path(finder, pid, "/tmp/only-here", &found, NULL), "a file of its own");
	jp_found_file_close(&found);
	check(jp_file_find_path(finder, (uint32_t)getpid(), "/tmp/only-here", &found, NULL) ==
		      -ENOENT,
	      "is none of ours");
	check(!jp_file_find_map(finder, pid, &found, NULL) && found.size == strlen(MAP) &&
		      pread(found.fd, there, sizeof(there), 0) == (ssize_t)found.size &&
		      !strcmp(there, MAP),
	      "its perf map, by its own number");
	jp_found_file_close(&found);
	check(fcntl(STDIN_FILENO, F_GETFD) >= 0, "its root is open");
	jp_file_finder_free(finder);
	check(fcntl(STDIN_FILENO, F_GETFD) < 0, "until the end");
	/* Where it has none, ours may be of it. */
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	finder = jp_file_finder_new();
	check(scratch_write(path, "1 2 outer\n", 10) &&
		      !jp_file_find_map(finder, pid, &found, NULL) && found.size == strlen(MAP),
	      "its own, whatever lies here");
	jp_found_file_close(&found);
	snprintf(path, sizeof(path), "/proc/%u/root/tmp/perf-1.map", pid);
	check(!unlink(path) && !jp_file_find_map(finder, pid, &found, NULL) && found.size == 10,
	      "one beside it, by its number here");
	jp_found_file_close(&found);
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	check(!unlink(path) && jp_file_find_map(finder, pid, &found, NULL) == -ENOENT,
	      "none at all");
	jp_file_finder_free(finder);
	close(residence.root);
}

/* Of one that is gone nothing is known: it is taken for one that lived here. */
static void nobody(uint32_t pid)
{
	struct jp_residence residence = {.root = -1, .inner = pid};

	jp_residence_of(pid, &residence);
	check(residence.root == -1 && residence.inner == pid, "who is gone lived here");
}

int main(void)
{
	int release = -1;
	pid_t above, pid = start(&above, &release);

	if (pid)
		elsewhere((uint32_t)pid);
	else
		check(true, "another namespace # SKIP no mount and PID namespaces");
	close(release);
	waitpid(above, NULL, 0);
	nobody((uint32_t)above);
	return check_done();
}
