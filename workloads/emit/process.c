// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/format/truth/write.h"
#include "workloads/emit/maps.h"
#include "workloads/emit/emitter.h"
#include "workloads/emit/path.h"
#include "workloads/emit/publish.h"
#include "workloads/emit/thread.h"
#include "workloads/emit/workload.h"

extern char **environ;

enum { SHARED_STACK = 1 << 20 };

static const char *const fork_times[JP_BIRTHS] = {
	[JP_BIRTH_FORK_EXEC] = "fork+exec",
	[JP_BIRTH_VFORK_EXEC] = "vfork+exec",
	[JP_BIRTH_SPAWN] = "posix_spawn",
	[JP_BIRTH_THREAD_EXEC] = "thread-exec",
};

/* All that live: a forked child drops its copies of their descriptors, else nobody's end of file
 * would ever come. */
static struct jp_child *alive;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const char *jp_birth_text(enum jp_birth birth)
{
	return birth < JP_BIRTHS ? fork_times[birth] : "?";
}

enum jp_birth jp_birth_find(const char *text)
{
	unsigned birth = 0;

	while (birth < JP_BIRTHS && strcmp(fork_times[birth], text))
		birth++;
	return birth;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* @theirs: the child's ends of the two pipes, ready and control. */
static int open_process(struct jp_child *process, int theirs[2])
{
	int ready[2], control[2], ret;

	*process = (struct jp_child){.pidfd = -1, .ready = -1, .control = -1};
	if (pipe2(ready, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(control, O_CLOEXEC) < 0) {
		ret = -errno;
		close(ready[0]);
		close(ready[1]);
		return ret;
	}
	process->ready = ready[0];
	process->control = control[1];
	theirs[0] = ready[1];
	theirs[1] = control[0];
	return 0;
}

static void close_process(struct jp_child *process)
{
	close_fd(&process->ready);
	close_fd(&process->control);
	close_fd(&process->pidfd);
	process->pid = 0;
}

/* Called with the lock held. @pid < 0: -errno. */
static int keep(struct jp_child *process, pid_t pid, int theirs[2])
{
	int64_t outside;

	close(theirs[0]);
	close(theirs[1]);
	if (pid < 0) {
		close_process(process);
		return pid;
	}
	process->pid = pid;
	process->pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (process->pidfd >= 0)
		fcntl(process->pidfd, F_SETFD, FD_CLOEXEC);
	outside = jp_truth_outside_pid(process->pidfd, pid);
	process->outside = outside > 0 ? outside : 0;
	process->next = alive;
	alive = process;
	return 0;
}

/* In the child, whatever it will do. */
static void leave_parent(uint64_t before, struct jp_truth_task_ids parent, enum jp_truth_how how)
{
	jp_truth_new_task();
	if (how == JP_HOW_FORK)
		jp_thread_forked();
	jp_truth_process_start(before, how, parent, 0);
}

static void __attribute__((noreturn)) end_child(int status)
{
	jp_truth_process_exit();
	_exit(status);
}

/* A forked child leaves, with what it published in order. */
static void __attribute__((noreturn)) end_body(int status)
{
	jp_maps_mark();
	if (jp_publish_end() && !status)
		status = EXIT_FAILURE;
	fflush(NULL);
	end_child(status);
}

/* The C library's fork() takes no flags: clone3(2) itself. */
static pid_t fork_as(const struct jp_fork *wanted)
{
	struct clone_args args = {.exit_signal = SIGCHLD};

	if (!wanted || (!wanted->namespaces && !wanted->pid))
		return fork();
	args.flags = wanted->namespaces;
	if (wanted->pid) {
		args.set_tid = (uintptr_t)&wanted->pid;
		args.set_tid_size = 1;
	}
	return syscall(SYS_clone3, &args, sizeof(args));
}

int jp_process_fork(struct jp_child *process, const struct jp_fork *wanted,
		    int (*body)(void *context), void *context)
{
	struct jp_truth_task_ids parent = jp_truth_self();
	int theirs[2], ret;
	pid_t pid;

	ret = open_process(process, theirs);
	if (ret)
		return ret;
	pthread_mutex_lock(&lock);
	fflush(NULL);
	process->forked = jp_clock_now();
	pid = fork_as(wanted);
	if (!pid) {
		pthread_mutex_init(&lock, NULL);
		leave_parent(process->forked, parent, JP_HOW_FORK);
		jp_path_forked();
		jp_emit_forked();
		jp_maps_forked();
		jp_maps_mark();
		close_process(process);
		for (; alive; alive = alive->next)
			close_process(alive);
		/* They go on through an exec of the child, as those of the first process do. */
		fcntl(theirs[0], F_SETFD, 0);
		fcntl(theirs[1], F_SETFD, 0);
		ret = jp_handshake_forked(theirs[0], theirs[1]) ?: jp_publish_forked();
		end_body(ret ? EXIT_FAILURE : body(context));
	}
	ret = keep(process, pid < 0 ? -errno : pid, theirs);
	pthread_mutex_unlock(&lock);
	return ret;
}

/* What the new image is told. */
struct next_image {
	char file[PATH_MAX];
	char *argv[64];
	char started[48], by[32];
	int error[2]; /* errno of a failed exec; end of file: it did not fail */
};

static int describe_image(struct next_image *image, const char *file, const char *const *argv,
			  const int theirs[2])
{
	const struct jp_handshake_setup *setup = jp_handshake_setup();
	const char *program = "/proc/self/exe";
	const struct jp_truth_task_ids self = jp_truth_self();
	ssize_t length = 0;
	int at = 0, bad = 0;

	if (file)
		length = snprintf(image->file, sizeof(image->file), "%s", file);
	else
		length = readlink(program, image->file, sizeof(image->file) - 1);
	if (length < 0 || length >= (ssize_t)sizeof(image->file))
		return -ENAMETOOLONG;
	image->file[length] = '\0';
	if (!file && access(image->file, X_OK)) /* replaced or removed since it was started */
		strcpy(image->file, program);
	image->argv[at++] = "jitproof";
	image->argv[at++] = "workload";
	image->argv[at++] = (char *)argv[0];
	bad |= asprintf(&image->argv[at++], "--truth=%s", setup->truth) < 0;
	bad |= asprintf(&image->argv[at++], "--seed=%llu", (unsigned long long)setup->seed) < 0;
	bad |= asprintf(&image->argv[at++], "--ready-fd=%d", theirs[0]) < 0;
	bad |= asprintf(&image->argv[at++], "--control-fd=%d", theirs[1]) < 0;
	if (jp_truth_outside_proc() >= 0)
		bad |= asprintf(&image->argv[at++], "--outside-proc=%d", jp_truth_outside_proc()) <
		       0;
	image->argv[at++] = image->started;
	image->argv[at++] = image->by;
	bad |= asprintf(&image->argv[at++], "--parent=%u:%u", self.pid, self.tid) < 0;
	if (jp_publish_how()) {
		bad |= asprintf(&image->argv[at++], "--publish=%s", jp_publish_how()) < 0;
		if (jp_publish_dir() && !bad)
			bad |= asprintf(&image->argv[at++], "--publish-dir=%s", jp_publish_dir()) <
			       0;
	}
	for (int i = 1; argv[i] && !bad; i++) {
		if (at == sizeof(image->argv) / sizeof(image->argv[0]) - 1)
			return -E2BIG;
		image->argv[at++] = (char *)argv[i];
	}
	return bad ? -ENOMEM : 0;
}

static void free_image(struct next_image *image)
{
	for (char **arg = image->argv; *arg; arg++)
		if (!strncmp(*arg, "--truth=", 8) || !strncmp(*arg, "--seed=", 7) ||
		    !strncmp(*arg, "--ready-fd=", 11) || !strncmp(*arg, "--control-fd=", 13) ||
		    !strncmp(*arg, "--outside-proc=", 15) || !strncmp(*arg, "--parent=", 9) ||
		    !strncmp(*arg, "--publish", 9))
			free(*arg);
	free(image);
}

static void stamp(struct next_image *image, uint32_t by)
{
	snprintf(image->by, sizeof(image->by), "--exec-tid=%u", by);
	snprintf(image->started, sizeof(image->started), "--started=%llu",
		 (unsigned long long)jp_clock_now());
}

static void *become(void *arg)
{
	struct next_image *image = arg;
	int code;

	stamp(image, jp_truth_self().tid);
	execv(image->file, image->argv);
	code = errno;
	if (write(image->error[1], &code, sizeof(code)) != sizeof(code))
		code = EIO; /* the status tells */
	end_child(127);
}

/* The child's side; a vfork child too, so it touches little. */
static void __attribute__((noreturn))
exec_child(struct next_image *image, bool thread, const int theirs[2])
{
	pthread_t other;

	fcntl(theirs[0], F_SETFD, 0);
	fcntl(theirs[1], F_SETFD, 0);
	if (jp_truth_outside_proc() >= 0)
		fcntl(jp_truth_outside_proc(), F_SETFD, 0);
	if (!thread)
		become(image);
	if (jp_thread_make(&other, become, image))
		end_child(127);
	for (;;)
		pause(); /* until the exec takes this thread away */
}

/* The C library does the clone: the start of the child is the new image's own record, from before
 * the call on. It runs no emitted code between the two. */
static pid_t spawn(struct next_image *image, const int theirs[2])
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int ret = posix_spawn_file_actions_init(&actions);

	/* Onto itself: what takes FD_CLOEXEC away (POSIX.1-2024, glibc 2.29). */
	if (!ret)
		ret = posix_spawn_file_actions_adddup2(&actions, theirs[0], theirs[0])
			      ?: posix_spawn_file_actions_adddup2(&actions, theirs[1], theirs[1]);
	if (!ret && jp_truth_outside_proc() >= 0)
		ret = posix_spawn_file_actions_adddup2(&actions, jp_truth_outside_proc(),
						       jp_truth_outside_proc());
	stamp(image, 0);
	if (!ret)
		ret = posix_spawn(&pid, image->file, &actions, NULL, image->argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return ret ? -ret : pid;
}

static pid_t start_image(struct next_image *image, enum jp_birth birth, const int theirs[2])
{
	struct jp_truth_task_ids parent = jp_truth_self();
	uint64_t before = jp_clock_now();
	pid_t pid;

	if (birth == JP_BIRTH_SPAWN)
		return spawn(image, theirs);
	if (birth == JP_BIRTH_VFORK_EXEC) {
		pid = vfork();
		if (!pid) {
			leave_parent(before, parent, JP_HOW_VFORK);
			exec_child(image, false, theirs);
		}
		/* It had our memory: what it believed to be is forgotten. */
		jp_truth_new_task();
		return pid < 0 ? -errno : pid;
	}
	pid = fork();
	if (!pid) {
		leave_parent(before, parent, JP_HOW_FORK);
		exec_child(image, birth == JP_BIRTH_THREAD_EXEC, theirs);
	}
	return pid < 0 ? -errno : pid;
}

int jp_process_exec(struct jp_child *process, enum jp_birth birth, const char *file,
		    const char *const *argv)
{
	struct next_image *image = calloc(1, sizeof(*image));
	int theirs[2], ret, code;
	pid_t pid;

	if (!image)
		return -ENOMEM;
	ret = open_process(process, theirs);
	if (ret) {
		free(image);
		return ret;
	}
	pthread_mutex_lock(&lock);
	ret = describe_image(image, file, argv, theirs);
	if (!ret && pipe2(image->error, O_CLOEXEC) < 0)
		ret = -errno;
	process->forked = jp_clock_now();
	pid = ret ? ret : start_image(image, birth, theirs);
	if (!ret)
		close(image->error[1]);
	ret = keep(process, pid, theirs);
	pthread_mutex_unlock(&lock);
	/* Returns when the exec was done. */
	if (!ret && read(image->error[0], &code, sizeof(code)) == sizeof(code)) {
		jp_process_reap(process);
		ret = -code;
	}
	if (image->error[0])
		close(image->error[0]);
	free_image(image);
	return ret;
}

struct sharing {
	int (*body)(void *context);
	void *context;
	uint64_t before;
	struct jp_truth_task_ids parent;
};

static int share(void *context)
{
	const struct sharing *sharing = context;
	int status;

	leave_parent(sharing->before, sharing->parent, JP_HOW_SHARE);
	jp_maps_mark();
	status = sharing->body(sharing->context);
	jp_maps_mark();
	end_child(status);
}

int jp_process_share(int (*body)(void *context), void *context)
{
	struct sharing sharing = {body, context, .parent = jp_truth_self()};
	int status;
	char *stack = mmap(NULL, SHARED_STACK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	pid_t pid;

	if (stack == MAP_FAILED)
		return -errno;
	sharing.before = jp_clock_now();
	pid = clone(share, stack + SHARED_STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, &sharing);
	status = pid < 0 ? -errno : 0;
	/* It had our thread's memory too: what it believed to be is forgotten. */
	jp_truth_new_task();
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && WIFEXITED(status) && jp_truth_outside_proc() < 0)
		jp_truth_gone(pid, pid);
	munmap(stack, SHARED_STACK);
	if (pid < 0)
		return status;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void jp_process_tell_stop(struct jp_child *process)
{
	/* The end of its control stream says it too, should the pipe be gone. */
	if (process->pid && process->control >= 0 && write(process->control, "stop\n", 5) < 0)
		close_fd(&process->control);
}

/* @since: when it may have died at the earliest, should it not tell itself. */
static int reap(struct jp_child *process, uint64_t since)
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
	if (WIFSIGNALED(status) && process->outside)
		jp_truth_process_died(process->outside, since, jp_clock_now());
	else if (process->outside)
		jp_truth_gone(process->outside, process->outside);
	pthread_mutex_lock(&lock);
	for (struct jp_child **at = &alive; *at; at = &(*at)->next) {
		if (*at == process) {
			*at = process->next;
			break;
		}
	}
	close_process(process);
	pthread_mutex_unlock(&lock);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int jp_process_reap(struct jp_child *process)
{
	return reap(process, process->forked);
}

int jp_process_stop(struct jp_child *process)
{
	if (!process->pid)
		return 0;
	jp_process_tell_stop(process);
	return jp_process_reap(process) ? -ECHILD : 0;
}

int jp_process_stop_all(struct jp_child *processes, size_t count)
{
	int failed = 0;

	for (size_t i = 0; i < count; i++)
		jp_process_tell_stop(&processes[i]);
	for (size_t i = 0; i < count; i++)
		if (processes[i].pid)
			failed |= jp_process_reap(&processes[i]);
	return failed ? -ECHILD : 0;
}

int jp_process_kill(struct jp_child *process)
{
	uint64_t now = jp_clock_now();

	if (process->pid)
		kill(process->pid, SIGKILL);
	return reap(process, now);
}
