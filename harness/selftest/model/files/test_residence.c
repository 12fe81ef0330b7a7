// SPDX-License-Identifier: GPL-2.0-only
/* Files of a process in other namespaces, by its own root and its own pid. */
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "harness/model/files/file_finder.h"
#include "harness/model/files/residence.h"
#include "harness/selftest/support/scratch.h"

#define MAP "10 10 inner\n"

/* Puts a perf map on a private /tmp as pid 1 of its namespace, then waits for @release. */
static void run_inhabitant(int ready_fd, int release)
{
	char byte = 0;

	if (getpid() == 1 && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	    !mount("none", "/tmp", "tmpfs", 0, NULL))
		byte = scratch_write("/tmp/perf-1.map", MAP, strlen(MAP)) &&
		       scratch_write("/tmp/only-here", "", 0);
	if (write(ready_fd, &byte, 1) == 1 && read(release, &byte, 1) < 0)
		_exit(1);
	_exit(0);
}

/* Starts the inhabitant of new namespaces below *@parent. Returns its outer pid, or 0 on failure.
 */
static pid_t start_inhabitant(pid_t *parent, int *release)
{
	int ready_pipe[2], hold[2], pid_pipe[2];
	pid_t pid = 0;
	char byte = 0;

	if (pipe(ready_pipe) || pipe(hold) || pipe(pid_pipe) || (*parent = fork()) < 0)
		exit(99);
	if (!*parent) {
		int flags = CLONE_NEWNS | CLONE_NEWPID | (geteuid() ? CLONE_NEWUSER : 0);

		close(hold[1]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(flags) || (pid = fork()) < 0)
			_exit(1);
		if (!pid)
			run_inhabitant(ready_pipe[1], hold[0]);
		if (write(pid_pipe[1], &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		_exit(waitpid(pid, NULL, 0) != pid);
	}
	close(ready_pipe[1]);
	close(pid_pipe[1]);
	close(hold[0]);
	if (read(pid_pipe[0], &pid, sizeof(pid)) != sizeof(pid) ||
	    read(ready_pipe[0], &byte, 1) != 1)
		byte = 0;
	close(ready_pipe[0]);
	close(pid_pipe[0]);
	*release = hold[1];
	return byte ? pid : 0;
}

static void check_residence(uint32_t pid)
{
	struct jp_residence residence = {.root = -1, .inner = pid};
	struct jp_file_finder *finder = jp_file_finder_new();
	struct jp_found_file file;
	char path[64], pid_text[16] = "";

	jp_residence_read(pid, &residence);
	check(residence.root >= 0 && residence.inner == 1,
	      "the process has a root, and pid %u inside", residence.inner);
	close(STDIN_FILENO); /* so that descriptor 0 is used for its root */
	check(jp_file_finder_residence(finder, pid) == pid &&
		      !jp_file_finder_residence(finder, (uint32_t)getpid()),
	      "it has another residence than this process");
	check(!jp_file_find_path(finder, pid, "/tmp/only-here", &file),
	      "a file of its own root is found");
	jp_found_file_close(&file);
	check(jp_file_find_path(finder, (uint32_t)getpid(), "/tmp/only-here", &file) == -ENOENT,
	      "that file is not found for this process");
	check(!jp_file_find_map(finder, pid, &file) && file.size == strlen(MAP) &&
		      pread(file.fd, pid_text, sizeof(pid_text), 0) == (ssize_t)file.size &&
		      !strcmp(pid_text, MAP),
	      "its perf map is found by its inner pid");
	jp_found_file_close(&file);
	check(fcntl(STDIN_FILENO, F_GETFD) >= 0, "its root is open");
	jp_file_finder_free(finder);
	check(fcntl(STDIN_FILENO, F_GETFD) < 0, "its root is closed at the end");
	/* Without a perf map in its namespace, a map in our /tmp may belong to it. */
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	finder = jp_file_finder_new();
	check(scratch_write(path, "1 2 outer\n", 10) && !jp_file_find_map(finder, pid, &file) &&
		      file.size == strlen(MAP),
	      "its own perf map is preferred to ours");
	jp_found_file_close(&file);
	snprintf(path, sizeof(path), "/proc/%u/root/tmp/perf-1.map", pid);
	check(!unlink(path) && !jp_file_find_map(finder, pid, &file) && file.size == 10,
	      "without its own, the perf map by its outer pid is found");
	jp_found_file_close(&file);
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	check(!unlink(path) && jp_file_find_map(finder, pid, &file) == -ENOENT,
	      "without either, there is no perf map");
	jp_file_finder_free(finder);
	close(residence.root);
}

static void test_missing_process(uint32_t pid)
{
	struct jp_residence residence = {.root = -1, .inner = pid};

	jp_residence_read(pid, &residence);
	check(residence.root == -1 && residence.inner == pid, "an exited process lives here");
}

TEST(residence)
{
	int release = -1;
	pid_t parent, pid = start_inhabitant(&parent, &release);

	if (pid)
		check_residence((uint32_t)pid);
	else
		check(true, "files in another namespace # SKIP no mount and PID namespaces");
	close(release);
	waitpid(parent, NULL, 0);
	test_missing_process((uint32_t)parent);
}
