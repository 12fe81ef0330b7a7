// SPDX-License-Identifier: GPL-2.0-only
#include "harness/run/workload_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/children.h"
#include "harness/base/cleanup.h"
#include "harness/base/interrupt.h"
#include "harness/base/number.h"
#include "harness/base/path.h"

int jp_workload_process_open(struct jp_workload_process *process, const char *dir,
			     struct jp_error *err)
{
	int ready_pipe[2], control[2], ret;

	*process = (struct jp_workload_process){
		.pidfd = -1, .line_fd = -1, .control = -1, .child_fd = {-1, -1}};
	ret = jp_path_build(process->output, sizeof(process->output), err, "%s/workload.txt", dir);
	if (ret)
		return ret;
	jp_children_adopt_orphans();
	if (pipe2(ready_pipe, O_CLOEXEC))
		return jp_fail(err, errno, "pipe: %s", strerror(errno));
	process->line_fd = ready_pipe[0];
	process->child_fd[0] = ready_pipe[1];
	if (pipe2(control, O_CLOEXEC))
		return jp_fail(err, errno, "pipe: %s", strerror(errno));
	process->child_fd[1] = control[0];
	process->control = control[1];
	return 0;
}

__attribute__((noreturn)) static void exec_workload(const struct jp_workload_process *process,
						    char *const *argv, int null, int output)
{
	setpgid(0, 0);
	/* Kill the workload if the runner itself is killed. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	jp_interrupt_restore_pipe_signals();
	if (dup2(null, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0)
		_exit(127);
	for (int i = 0; i < 2; i++)
		if (fcntl(process->child_fd[i], F_SETFD, 0))
			_exit(127);
	execv(argv[0], argv);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

int jp_workload_process_start(struct jp_workload_process *process, char *const *argv,
			      struct jp_error *err)
{
	/* Open the files before the fork, because this process can report an error. */
	jp_cleanup_close int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	jp_cleanup_close int output =
		null < 0 ? -1
			 : open(process->output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	pid_t pid;

	if (output < 0)
		return jp_fail(err, errno, "%s: %s", null < 0 ? "/dev/null" : process->output,
			       strerror(errno));
	pid = fork();
	if (pid < 0)
		return jp_fail(err, errno, "fork: %s", strerror(errno));
	if (!pid)
		exec_workload(process, argv, null, output);
	setpgid(pid, pid); /* parent and child both call setpgid(), because either may run first */
	process->pid = pid;
	process->group = true;
	jp_workload_process_close_ends(process);
	return 0;
}

void jp_workload_process_close_ends(struct jp_workload_process *process)
{
	for (int i = 0; i < 2; i++) {
		if (process->child_fd[i] >= 0)
			close(process->child_fd[i]);
		process->child_fd[i] = -1;
	}
}

int jp_workload_process_redirect(const struct jp_workload_process *process, int saved[3],
				 struct jp_error *err)
{
	int output = open(process->output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	bool succeeded = output >= 0 && null >= 0;

	fflush(NULL);
	for (int i = 0; i < 3; i++) {
		saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
		succeeded = succeeded && saved[i] >= 0 && dup2(i ? output : null, i) >= 0;
	}
	close(output);
	close(null);
	return succeeded ? 0
			 : jp_fail(err, EIO,
				   "%s: the workload's standard output cannot be redirected to it",
				   process->output);
}

void jp_workload_process_restore(const int saved[3])
{
	fflush(NULL);
	for (int i = 0; i < 3; i++) {
		if (saved[i] >= 0)
			dup2(saved[i], i);
		close(saved[i]);
	}
}

/* Stores in a message how the workload ended, without reaping it. */
static int describe_end(struct jp_workload_process *process, uint64_t deadline,
			struct jp_error *err)
{
	siginfo_t info = {0};
	int ret;

	if (process->pidfd < 0 && process->pid)
		process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (process->pidfd < 0)
		return jp_fail(err, EPIPE, "the workload has exited");
	ret = jp_wait_readable(process->pidfd, deadline);
	if (ret || process->is_external)
		return ret;
	if (waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOWAIT | WNOHANG) || !info.si_pid)
		return jp_fail(err, EPIPE, "the workload has exited");
	if (info.si_code == CLD_EXITED && info.si_status == 0)
		return 0;
	if (info.si_code == CLD_EXITED)
		return jp_fail(err, ECHILD, "the workload exited with status %d", info.si_status);
	return jp_fail(err, ECHILD, "the workload was killed by signal %d (%s)", info.si_status,
		       strsignal(info.si_status));
}

/* Stores a message: how the workload ended, or @otherwise if it still runs. @protocol_state: the
 * state of the protocol, for the message. Returns -EPIPE or -EINTR. */
static int fail_lost(struct jp_workload_process *process, uint64_t deadline, const char *otherwise,
		     const char *protocol_state, struct jp_error *err)
{
	struct jp_error end = {""};
	int ret = describe_end(process, deadline, &end);

	if (ret == -EINTR)
		return ret;
	if (ret == -ETIMEDOUT)
		return jp_fail(err, EPIPE, "%s %s", otherwise, protocol_state);
	return jp_fail(err, EPIPE, "%s %s", ret ? end.text : "the workload exited with status 0",
		       protocol_state);
}

int jp_workload_process_fail_end(struct jp_workload_process *process, uint64_t deadline,
				 struct jp_error *err)
{
	if (process->is_external || !process->group)
		return jp_fail(err, EPIPE, "the workload ended while it was watched");
	return fail_lost(process, deadline, "the profiler ended, but the workload did not exit",
			 "while it was watched", err);
}

/* Reads one line into @text. @protocol_state: the state of the protocol, for messages. */
static int read_line(struct jp_workload_process *process, char *text, size_t size,
		     uint64_t deadline, const char *protocol_state, struct jp_error *err)
{
	int ret = jp_lines_next(&process->lines, process->line_fd, deadline, text, size);

	if (ret == -EPROTO)
		return jp_fail(err, EPROTO, "the workload wrote %zu bytes without a newline %s",
			       process->lines.nr_filled, protocol_state);
	if (ret == -EBADMSG)
		return jp_fail(err, EPROTO, "the workload wrote '%s' and a NUL byte %s", text,
			       protocol_state);
	if (ret == -ETIMEDOUT)
		return jp_fail(err, ETIMEDOUT, "the workload did not answer in time %s",
			       protocol_state);
	if (ret == -EINTR)
		return jp_fail(err, EINTR, "interrupted %s", protocol_state);
	if (ret == -EPIPE)
		return fail_lost(process, deadline, "the workload closed its ready descriptor",
				 protocol_state, err);
	return ret ? jp_fail(err, -ret, "cannot read the ready descriptor of the workload: %s",
			     strerror(-ret))
		   : 0;
}

int jp_workload_process_wait_ready(struct jp_workload_process *process, uint64_t deadline,
				   struct jp_error *err)
{
	char text[256];
	uint64_t pid;
	int ret = read_line(process, text, sizeof(text), deadline, "before it was ready", err);

	if (ret)
		return ret;
	if (strncmp(text, "skip ", 5) == 0)
		return jp_fail(err, EOPNOTSUPP, "%s", text + 5);
	if (strncmp(text, "ready ", 6) != 0)
		return jp_fail(err, EPROTO, "the workload wrote '%s'; expected 'ready PID'", text);
	if (!jp_number(text + 6, 1, INT32_MAX, &pid) ||
	    (process->pid && (pid_t)pid != process->pid))
		return jp_fail(err, EPROTO, "the workload wrote '%s'; its pid is %ld", text,
			       (long)process->pid);
	process->pid = (pid_t)pid;
	/* Open the pidfd while the workload still waits for "stop": if it is the child of another
	 * process, that process may reap it right after. */
	if (process->pidfd < 0)
		process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	return 0;
}

static int send_line(struct jp_workload_process *process, const char *verb, const char *command,
		     struct jp_error *err)
{
	/* Lines are short, so one write() puts a whole line into the pipe. */
	if (dprintf(process->control, "%s%s%s\n", verb, command ? " " : "",
		    command ? command : "") < 0)
		return jp_fail(err, errno, "cannot write to the workload: %s", strerror(errno));
	return 0;
}

int jp_workload_process_step(struct jp_workload_process *process, const char *command,
			     uint64_t deadline, struct jp_error *err)
{
	char text[512], expected[128], protocol_state[160];
	int ret = send_line(process, "step", command, err);

	if (ret)
		return ret;
	snprintf(protocol_state, sizeof(protocol_state), "in step '%s'", command);
	ret = read_line(process, text, sizeof(text), deadline, protocol_state, err);
	if (ret)
		return ret;
	snprintf(expected, sizeof(expected), "done %.*s", (int)strcspn(command, " "), command);
	if (strcmp(text, expected) != 0)
		return jp_fail(err, EPROTO, "step '%s': the workload wrote '%s'", command, text);
	return 0;
}

int jp_workload_process_stop(struct jp_workload_process *process, uint64_t deadline,
			     struct jp_error *err)
{
	int ret;

	/* Ignore errors of the pipe: the end of a workload is reported below. */
	(void)send_line(process, "stop", NULL, NULL);
	ret = describe_end(process, deadline, err);
	if (ret == -ETIMEDOUT)
		return jp_fail(err, ETIMEDOUT, "the workload did not end in time after 'stop'");
	if (ret == -EINTR)
		return jp_fail(err, EINTR, "interrupted while the workload ended");
	return ret;
}

void jp_workload_process_close(struct jp_workload_process *process)
{
	jp_workload_process_close_ends(process);
	if (process->control >= 0)
		close(process->control);
	if (process->line_fd >= 0)
		close(process->line_fd);
	if (process->pidfd >= 0)
		close(process->pidfd);
	process->control = process->line_fd = process->pidfd = -1;
	if (process->group)
		kill(-process->pid, SIGKILL);
	/* Kill descendants that left the process group, too: orphans become children of this
	 * process. */
	jp_children_kill_all();
	process->pid = 0;
	process->group = false;
}

void jp_workload_process_last_words(const struct jp_workload_process *process, char *text,
				    size_t size)
{
	char tail[1024];
	jp_cleanup_fclose FILE *file = fopen(process->output, "re");
	size_t nr_read, length = 0;
	char *line, *save, *text_read = tail;

	text[0] = '\0';
	if (!file)
		return;
	if (fseek(file, -(long)(sizeof(tail) - 1), SEEK_END))
		rewind(file);
	nr_read = fread(tail, 1, sizeof(tail) - 1, file);
	tail[nr_read] = '\0';
	/* Find the start of the last five lines. */
	for (int lines = 0, i = (int)nr_read - 2; i >= 0 && text_read == tail; i--)
		if (tail[i] == '\n' && ++lines == 5)
			text_read = tail + i + 1;
	for (line = strtok_r(text_read, "\n", &save); line && length < size;
	     line = strtok_r(NULL, "\n", &save))
		length +=
			(size_t)snprintf(text + length, size - length, "\n  it printed: %s", line);
}
