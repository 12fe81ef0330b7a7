// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/confine.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/delegate.h"
#include "harness/base/exits.h"
#include "harness/base/interrupt.h"
#include "harness/base/new_file.h"
#include "harness/base/output_folder.h"
#include "harness/base/progress.h"
#include "harness/base/rights.h"

static int handle_request(const struct jp_delegate *delegate, enum jp_delegated kind,
			  const char *path, struct jp_error *err)
{
	switch (kind) {
	case JP_DELEGATED_INPUT:
		return jp_delegate_input(delegate, path, err);
	case JP_DELEGATED_FILE:
		return jp_delegate_file(delegate, path, err);
	case JP_DELEGATED_FOLDER:
		return jp_delegate_folder(delegate, path, err);
	case JP_DELEGATED_ROOT:
		return jp_delegate_root(delegate, path, err);
	case JP_DELEGATED_KEEP:
		return jp_new_file_publish_path(path, err);
	case JP_DELEGATED_CREATE:
		return jp_output_folder_create(path, err);
	case JP_DELEGATED_PUBLISH:
		return jp_output_folder_publish(path, err);
	case JP_DELEGATED_EXISTING:
		return jp_output_folder_existing(path, err);
	}
	return jp_fail(err, EINVAL, "no such request");
}

/* Returns whether a message arrives before a watched signal. */
static bool wait_for_request(int channel)
{
	struct pollfd polled[] = {{.fd = channel, .events = POLLIN},
				  {.fd = jp_interrupt_fd(), .events = POLLIN}};
	int ready;

	do
		ready = poll(polled, 2, -1);
	while (ready < 0 && errno == EINTR);
	return ready > 0 && !polled[1].revents;
}

/* Serves the requests of the confined process, which come through @channel (delegate.h), until that
 * process ends or a watched signal arrives. */
static void serve_requests(const struct jp_delegate *delegate, int channel)
{
	static struct jp_delegate_request request;
	static struct jp_delegate_answer answer;
	int fd;

	while (wait_for_request(channel) &&
	       jp_message_receive(channel, &request, sizeof(request), &fd)) {
		int ret;

		if (fd >= 0)
			close(fd);
		memset(&answer, 0, sizeof(answer));
		request.path[sizeof(request.path) - 1] = '\0';
		ret = handle_request(delegate, request.kind, request.path, &answer.err);
		answer.result = ret < 0 ? ret : 0;
		fd = ret > 0 ? ret : -1;
		jp_message_send(channel, &answer, sizeof(answer), fd);
		if (fd >= 0)
			close(fd);
	}
}

/* Returns the user whose privileges suffice to read the input. It is the input's owner, or nobody
 * if the owner is root, if the input is a pipe, or if there are several files. */
static int64_t find_owner(const struct jp_delegate *delegate)
{
	struct stat st;

	if (delegate->input < 0 || fstat(delegate->input, &st) ||
	    !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return 0;
	return st.st_uid;
}

static void enter_child(const struct jp_delegate *delegate, int channel, int server, pid_t parent)
{
	struct jp_error err;

	jp_interrupt_restore_defaults();
	jp_delegate_begin(channel);
	if (jp_rights_drop(find_owner(delegate), channel, server, &err))
		fprintf(stderr, "jitproof: %s\n", err.text);
	/* Set this after the change of privileges, which would clear it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(JP_EXIT_BROKEN);
}

/* Waits for @pid. Returns its exit status, or JP_EXIT_BROKEN and prints a message if it was
 * killed. */
static int wait_for_child(pid_t pid)
{
	int status;

	if (jp_interrupt_signal())
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return JP_EXIT_BROKEN;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (!jp_interrupt_signal())
		fprintf(stderr,
			"jitproof: the process that read the input was killed by signal %d (%s)\n",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	return JP_EXIT_BROKEN;
}

/* Discards incomplete outputs in the waiting process. */
static void drop_outputs(struct jp_delegate *delegate)
{
	jp_delegate_close(delegate);
	jp_new_file_discard_all();
	jp_output_folder_end();
}

int jp_confine_enter(const struct jp_confine *confine, int *status, struct jp_error *err)
{
	struct jp_delegate delegate;
	const pid_t own_pid = getpid();
	int ends[2], ret = jp_delegate_open(&delegate, &confine->readable, err);
	pid_t pid;

	if (!ret && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		ret = jp_fail(err, errno, "socketpair: %s", strerror(errno));
	if (ret) {
		if (confine->channel)
			close(confine->channel);
		drop_outputs(&delegate);
		return ret;
	}
	jp_progress_prepare();
	fflush(NULL);
	pid = fork();
	if (!pid) {
		close(ends[0]);
		enter_child(&delegate, ends[1], confine->channel, own_pid);
		jp_delegate_close(&delegate);
		return 0;
	}
	close(ends[1]);
	/* The channel's peer must see an end of file when the confined process ends. */
	if (confine->channel)
		close(confine->channel);
	if (pid < 0) {
		ret = jp_fail(err, errno, "fork: %s", strerror(errno));
	} else {
		serve_requests(&delegate, ends[0]);
		*status = wait_for_child(pid);
		if (confine->choose_status)
			*status = confine->choose_status(confine->context, *status);
		ret = 1;
	}
	close(ends[0]);
	drop_outputs(&delegate);
	return ret;
}
