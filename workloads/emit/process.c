// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workloads/emit/emitter.h"
#include "workloads/emit/maps.h"
#include "workloads/emit/path.h"
#include "workloads/emit/publish.h"
#include "workloads/emit/workload.h"

enum { SHARED_STACK = 1 << 20 };

/* Completes the files of publishers and ends a forked child. */
static void __attribute__((noreturn)) exit_child(int status)
{
	jp_maps_record_all();
	if (jp_publish_end() && !status)
		status = EXIT_FAILURE;
	fflush(NULL);
	jp_child_end(status);
}

/* Forks with the flags and the pid of @options by clone3(2), because fork() takes neither. */
static pid_t fork_by_clone3(const struct jp_fork *options)
{
	struct clone_args args = {.exit_signal = SIGCHLD};

	if (!options || (!options->namespaces && !options->pid))
		return fork();
	args.flags = options->namespaces;
	if (options->pid) {
		args.set_tid = (uintptr_t)&options->pid;
		args.set_tid_size = 1;
	}
	return syscall(SYS_clone3, &args, sizeof(args));
}

int jp_process_fork(struct jp_child *process, const struct jp_fork *options,
		    int (*body)(void *context), void *context)
{
	struct jp_truth_task_ids parent = jp_truth_get_own_ids();
	int child_ends[2], ret;
	pid_t pid;

	ret = jp_child_open(process, child_ends);
	if (ret)
		return ret;
	jp_children_lock();
	fflush(NULL);
	process->absent_at = jp_clock_now();
	pid = fork_by_clone3(options);
	if (!pid) {
		jp_child_begin(process->absent_at, parent, JP_START_FORK);
		jp_path_forked();
		jp_emit_use_new_names();
		jp_maps_forked();
		jp_maps_record_all();
		jp_child_close(process);
		jp_children_forget();
		/* Keep the descriptors open if the child execs, as in the first process. */
		fcntl(child_ends[0], F_SETFD, 0);
		fcntl(child_ends[1], F_SETFD, 0);
		ret = jp_handshake_begin_child(child_ends[0], child_ends[1]) ?: jp_publish_forked();
		exit_child(ret ? EXIT_FAILURE : body(context));
	}
	ret = jp_child_keep(process, pid < 0 ? -errno : pid, child_ends);
	jp_children_unlock();
	return ret;
}

struct sharing {
	int (*body)(void *context);
	void *context;
	uint64_t before;
	struct jp_truth_task_ids parent;
};

static int run_sharing(void *context)
{
	const struct sharing *sharing = context;
	int status;

	jp_child_begin(sharing->before, sharing->parent, JP_START_SHARE);
	jp_maps_record_all();
	status = sharing->body(sharing->context);
	jp_maps_record_all();
	jp_child_end(status);
}

int jp_process_share(int (*body)(void *context), void *context)
{
	struct sharing sharing = {body, context, .parent = jp_truth_get_own_ids()};
	int status;
	char *stack = mmap(NULL, SHARED_STACK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	pid_t pid;

	if (stack == MAP_FAILED)
		return -errno;
	sharing.before = jp_clock_now();
	pid = clone(run_sharing, stack + SHARED_STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, &sharing);
	status = pid < 0 ? -errno : 0;
	/* The child changed the cached ids in the memory that we share. */
	jp_truth_new_task();
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && WIFEXITED(status) && jp_truth_get_outer_proc() < 0)
		jp_truth_task_released(pid, pid);
	munmap(stack, SHARED_STACK);
	if (pid < 0)
		return status;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void jp_process_send_stop(struct jp_child *process)
{
	/* A failed write is no error: we close the pipe, and the end of its control stream stops
	 * the child. */
	if (process->pid && process->control >= 0 && write(process->control, "stop\n", 5) < 0) {
		close(process->control);
		process->control = -1;
	}
}

int jp_process_reap(struct jp_child *process)
{
	return jp_child_reap(process, process->absent_at);
}

int jp_process_stop_all(struct jp_child *processes, size_t count)
{
	int failed = 0;

	for (size_t i = 0; i < count; i++)
		jp_process_send_stop(&processes[i]);
	for (size_t i = 0; i < count; i++)
		if (processes[i].pid)
			failed |= jp_process_reap(&processes[i]);
	return failed ? -ECHILD : 0;
}

int jp_process_stop(struct jp_child *process)
{
	return jp_process_stop_all(process, 1);
}

int jp_process_kill(struct jp_child *process)
{
	uint64_t now = jp_clock_now();

	if (process->pid)
		kill(process->pid, SIGKILL);
	return jp_child_reap(process, now);
}
