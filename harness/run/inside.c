// SPDX-License-Identifier: GPL-2.0-only
#include "harness/run/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/interrupt.h"

/* State of a call of jp_inside_run(), in memory shared by the nested processes. */
struct nested_run {
	int (*act)(void *context);
	void *context;
	char missing_feature[256]; /* the feature that is missing here; "": none */
};

enum { NOT_THERE = 127, KILLED = 126 }; /* own exit statuses, which @act must not use */

static bool write_text(const char *path, const char *text)
{
	jp_cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Maps the user @uid to root in the new user namespace, where no other user exists. */
static bool map_user(uid_t uid, gid_t gid)
{
	char users[32], groups[32];

	snprintf(users, sizeof(users), "0 %u 1", uid);
	snprintf(groups, sizeof(groups), "0 %u 1", gid);
	return write_text("/proc/self/setgroups", "deny") &&
	       write_text("/proc/self/uid_map", users) && write_text("/proc/self/gid_map", groups);
}

static int enter_namespace(struct nested_run *run, unsigned int depth);

/* Runs as the first process of a new pid namespace: mounts /proc, then calls @act or enters the
 * next namespace. */
static int run_first_process(struct nested_run *run, unsigned int depth, uid_t uid, gid_t gid)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (uid && !map_user(uid, gid)) {
		snprintf(run->missing_feature, sizeof(run->missing_feature),
			 "/proc/self/uid_map: %s", strerror(errno));
		return NOT_THERE;
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL)) {
		snprintf(run->missing_feature, sizeof(run->missing_feature), "mount of /proc: %s",
			 strerror(errno));
		return NOT_THERE;
	}
	return depth > 1 ? enter_namespace(run, depth - 1) : run->act(run->context);
}

/* Waits for the end of @pid, and sends it SIGTERM if a watched signal arrives. Returns its exit
 * status. */
static int wait_for_child(pid_t pid)
{
	jp_cleanup_close int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd fds[2] = {{.fd = fd, .events = POLLIN},
				{.fd = jp_interrupt_fd(), .events = POLLIN}};
	int status;

	while (fd >= 0 && !fds[0].revents) {
		if (poll(fds, 2, -1) > 0 && fds[1].revents) {
			kill(pid, SIGTERM);
			fds[1].fd = -1;
		}
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return KILLED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED;
}

static int enter_namespace(struct nested_run *run, unsigned int depth)
{
	const uid_t uid = geteuid();
	const gid_t gid = getegid();
	struct clone_args args = {.flags = CLONE_NEWPID | CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0),
				  .exit_signal = SIGCHLD};
	pid_t pid;

	fflush(NULL);
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (!pid)
		_exit(run_first_process(run, depth, uid, gid));
	if (pid > 0)
		return wait_for_child(pid);
	snprintf(run->missing_feature, sizeof(run->missing_feature),
		 "clone3 with CLONE_NEWPID and CLONE_NEWNS%s: %s", uid ? " and CLONE_NEWUSER" : "",
		 strerror(errno));
	return NOT_THERE;
}

int jp_inside_run(unsigned int depth, int (*act)(void *context), void *context,
		  struct jp_error *err)
{
	struct nested_run *run =
		mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ret;

	if (run == MAP_FAILED)
		return jp_fail(err, ENOMEM, "out of memory");
	run->act = act;
	run->context = context;
	ret = enter_namespace(run, depth);
	if (ret == NOT_THERE && *run->missing_feature)
		ret = jp_fail(err, EOPNOTSUPP, "%s", run->missing_feature);
	else if (ret > 99)
		ret = jp_fail(err, ECHILD, "the runner in the namespace was killed");
	munmap(run, sizeof(*run));
	return ret;
}
