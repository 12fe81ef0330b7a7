// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/child.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workloads/emit/thread.h"

/* All living children; see workloads/emit/child.h. */
static struct jp_child *alive;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void jp_children_lock(void)
{
	pthread_mutex_lock(&lock);
}

void jp_children_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int jp_child_open(struct jp_child *process, int child_ends[2])
{
	int ready_pipe[2], control[2], ret;

	*process = (struct jp_child){.pidfd = -1, .message_pipe = -1, .control = -1};
	if (pipe2(ready_pipe, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(control, O_CLOEXEC) < 0) {
		ret = -errno;
		close(ready_pipe[0]);
		close(ready_pipe[1]);
		return ret;
	}
	process->message_pipe = ready_pipe[0];
	process->control = control[1];
	child_ends[0] = ready_pipe[1];
	child_ends[1] = control[0];
	return 0;
}

void jp_child_close(struct jp_child *process)
{
	close_fd(&process->message_pipe);
	close_fd(&process->control);
	close_fd(&process->pidfd);
	process->pid = 0;
}

void jp_children_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	for (; alive; alive = alive->next)
		jp_child_close(alive);
}

int jp_child_keep(struct jp_child *process, pid_t pid, int child_ends[2])
{
	int64_t outer_pid;

	close(child_ends[0]);
	close(child_ends[1]);
	if (pid < 0) {
		jp_child_close(process);
		return pid;
	}
	process->pid = pid;
	process->pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (process->pidfd >= 0)
		fcntl(process->pidfd, F_SETFD, FD_CLOEXEC);
	outer_pid = jp_truth_find_outer_pid(process->pidfd, pid);
	process->outer_pid = outer_pid > 0 ? outer_pid : 0;
	process->next = alive;
	alive = process;
	return 0;
}

void jp_child_begin(uint64_t before, struct jp_truth_task_ids parent, enum jp_start_kind how)
{
	jp_truth_new_task();
	if (how == JP_START_FORK)
		jp_thread_forget_parent();
	jp_truth_process_start(before, how, parent, 0);
}

void jp_child_end(int status)
{
	jp_truth_process_exit();
	_exit(status);
}

int jp_child_reap(struct jp_child *process, uint64_t start_time)
{
	int status;
	pid_t pid;

	if (!process->pid)
		return -ECHILD;
	do {
		pid = waitpid(process->pid, &status, 0);
	} while (pid < 0 && errno == EINTR);
	if (pid < 0)
		return -errno;
	if (WIFSIGNALED(status) && process->outer_pid)
		jp_truth_process_died(process->outer_pid, start_time, jp_clock_now());
	else if (process->outer_pid)
		jp_truth_task_released(process->outer_pid, process->outer_pid);
	pthread_mutex_lock(&lock);
	for (struct jp_child **link = &alive; *link; link = &(*link)->next) {
		if (*link == process) {
			*link = process->next;
			break;
		}
	}
	jp_child_close(process);
	pthread_mutex_unlock(&lock);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
