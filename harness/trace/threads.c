// SPDX-License-Identifier: GPL-2.0-only
#include "harness/trace/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/base/interrupt.h"
#include "harness/base/number.h"
#include "harness/base/proc_stat.h"
#include "harness/base/untrusted_file.h"

/* Options of ptrace(): new threads and child processes are traced too, and an exec stops the thread
 * without SIGTRAP. */
#define OPTIONS                                                                                    \
	(PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC)

enum { STOP_NS = 100000000 };

struct jp_thread *jp_threads_find(const struct jp_threads *threads, pid_t tid)
{
	for (size_t i = 0; i < threads->count; i++)
		if (threads->list[i].tid == tid)
			return &threads->list[i];
	return NULL;
}

/* Returns the process of @tid, or 0 if the thread is gone. */
static pid_t read_process(pid_t tid)
{
	char path[64], text[4096];
	const char *line;
	uint64_t pid = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	if (jp_file_read_text(path, text, sizeof(text)) > 0 && (line = strstr(text, "\nTgid:\t"))) {
		line += strlen("\nTgid:\t");
		jp_number_take(&line, 10, INT32_MAX, &pid);
	}
	return (pid_t)pid;
}

/* Returns the list's entry of @tid, added if it is not in the list, or NULL without memory. */
static struct jp_thread *add_thread(struct jp_threads *threads, pid_t tid)
{
	struct jp_thread *thread = jp_threads_find(threads, tid);

	if (thread)
		return thread;
	thread = jp_array_push(&threads->list, &threads->count, &threads->capacity);
	if (thread) {
		thread->tid = tid;
		thread->pid = read_process(tid) ?: tid;
	}
	return thread;
}

static void remove_thread(struct jp_threads *threads, pid_t tid)
{
	struct jp_thread *thread = jp_threads_find(threads, tid);

	if (thread)
		*thread = threads->list[--threads->count];
}

/* After an exec of process @pid: removes its other threads. The thread that called exec now has the
 * tid @pid. */
static void remove_other_threads(struct jp_threads *threads, pid_t pid)
{
	for (size_t i = threads->count; i; i--) {
		const struct jp_thread *thread = &threads->list[i - 1];

		if (thread->pid == pid && thread->tid != pid)
			threads->list[i - 1] = threads->list[--threads->count];
	}
}

static void resume_thread(struct jp_thread *thread)
{
	ptrace(thread->group_stop ? PTRACE_LISTEN : PTRACE_CONT, thread->tid, 0,
	       (long)thread->signal);
	thread->is_stopped = false;
	thread->signal = 0;
}

/* Adds the new thread or process that ptrace event @event of @tid reports. */
static void add_started_thread(struct jp_threads *threads, pid_t tid, int event)
{
	struct jp_thread *started;
	unsigned long new_tid;

	if ((event != PTRACE_EVENT_CLONE && event != PTRACE_EVENT_FORK &&
	     event != PTRACE_EVENT_VFORK) ||
	    ptrace(PTRACE_GETEVENTMSG, tid, 0, &new_tid))
		return;
	/* The end of a short-lived thread may be reported before its start: then do not add it. */
	if (!read_process((pid_t)new_tid))
		return;
	started = add_thread(threads, (pid_t)new_tid);
	if (started) {
		const struct jp_thread *starter = jp_threads_find(threads, tid);

		started->is_forked = event == PTRACE_EVENT_FORK || starter->is_forked;
		started->execs = starter->execs;
	}
}

/* Stores in @thread what @status reports about its stop. */
static void note_stop_status(struct jp_threads *threads, struct jp_thread *thread, int status)
{
	const int number = WSTOPSIG(status), event = status >> 16;
	const pid_t tid = thread->tid;

	thread->is_stopped = true;
	thread->group_stop = event == PTRACE_EVENT_STOP && number != SIGTRAP;
	thread->signal = event ? 0 : number;
	if (event == PTRACE_EVENT_EXEC) {
		thread->is_forked = false;
		thread->execs++;
		remove_other_threads(threads, tid);
	}
	add_started_thread(threads, tid, event);
}

/* Handles one change of a thread's state, @status, as waitpid() reports it. */
static void handle_change(struct jp_threads *threads, pid_t tid, int status)
{
	struct jp_thread *thread;

	if (!WIFSTOPPED(status)) {
		remove_thread(threads, tid);
		if (tid == threads->launched) {
			threads->status = status;
			threads->launched = 0;
		}
		return;
	}
	if (!add_thread(threads, tid))
		return;
	note_stop_status(threads, jp_threads_find(threads, tid), status);
	thread = jp_threads_find(threads, tid);
	if (thread->pid != threads->stopping)
		resume_thread(thread);
}

/* Waits until thread @tid stops or ends, and handles the changes of other threads meanwhile: the
 * end of a process's first thread is reported only after the ends of its other threads. Returns
 * false if there is no such thread. */
static bool wait_for_thread(struct jp_threads *threads, pid_t tid, int *status)
{
	pid_t changed;

	while ((changed = waitpid(-1, status, __WALL)) != tid) {
		if (changed > 0)
			handle_change(threads, changed, *status);
		else if (errno != EINTR)
			return false;
	}
	return true;
}

/* Handles all changes of threads that waitpid() can report now. */
static void handle_changes(struct jp_threads *threads)
{
	struct signalfd_siginfo info;
	pid_t tid;
	int status;

	while (read(threads->children, &info, sizeof(info)) > 0)
		;
	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
		handle_change(threads, tid, status);
}

/* Waits for a change of a thread, an interrupting signal to this process, or @time. Returns whether
 * @time was reached. */
static bool wait_for_change(struct jp_threads *threads, uint64_t time)
{
	struct pollfd fds[] = {{.fd = threads->children, .events = POLLIN},
			       {.fd = jp_interrupt_fd(), .events = POLLIN}};
	const uint64_t now = jp_clock_now();
	struct timespec remaining;

	if (now >= time)
		return true;
	remaining.tv_sec = (time_t)((time - now) / 1000000000);
	remaining.tv_nsec = (long)((time - now) % 1000000000);
	return ppoll(fds, 2, &remaining, NULL) == 0;
}

bool jp_threads_run_until(struct jp_threads *threads, uint64_t time)
{
	while (threads->count && !jp_interrupt_signal()) {
		handle_changes(threads);
		if (threads->count && wait_for_change(threads, time))
			return true;
	}
	return false;
}

char jp_threads_state(const struct jp_thread *thread)
{
	struct jp_proc_stat stat;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", thread->pid, thread->tid);
	return jp_proc_stat_read(path, &stat) ? stat.state : 0;
}

/* Returns whether @thread is the first of its process and ended before the others. Such a thread
 * never stops again. */
static bool is_zombie(const struct jp_thread *thread)
{
	return thread->tid == thread->pid && jp_threads_state(thread) == 'Z';
}

static bool is_stopped(const struct jp_threads *threads, pid_t pid)
{
	for (size_t i = 0; i < threads->count; i++)
		if (threads->list[i].pid == pid && !threads->list[i].is_stopped &&
		    !is_zombie(&threads->list[i]))
			return false;
	return true;
}

bool jp_threads_stop(struct jp_threads *threads, pid_t pid)
{
	const uint64_t end = jp_clock_now() + STOP_NS;
	bool is_late = false;

	threads->stopping = pid;
	for (size_t i = 0; i < threads->count; i++)
		if (threads->list[i].pid == pid)
			ptrace(PTRACE_INTERRUPT, threads->list[i].tid, 0, 0);
	do {
		handle_changes(threads);
	} while (!is_stopped(threads, pid) && !(is_late = wait_for_change(threads, end)));
	if (is_late)
		jp_threads_resume(threads);
	return !is_late;
}

void jp_threads_resume(struct jp_threads *threads)
{
	threads->stopping = 0;
	for (size_t i = 0; i < threads->count; i++)
		if (threads->list[i].is_stopped)
			resume_thread(&threads->list[i]);
}

/* Returns why a thread stopped by SIGTRAP: it executed the instruction, it is about to run a signal
 * handler, or the program itself sent the signal. */
static enum jp_stepped explain_trap(pid_t tid)
{
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, tid, 0, &info))
		return JP_STEPPED_GONE;
	/* The kernel reports TRAP_BRKPT after a step over a system call
	 * (user_single_step_report()). The instruction int3 has SI_KERNEL. */
	if (info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT)
		return JP_STEPPED;
	/* The kernel's signal_setup_done() calls ptrace_notify(SIGTRAP) before a handler runs. */
	return info.si_code == SIGTRAP ? JP_STEPPED_HANDLER : JP_STEPPED_STOPPED;
}

enum jp_stepped jp_threads_step(struct jp_threads *threads, pid_t tid)
{
	struct jp_thread *thread = jp_threads_find(threads, tid);
	enum jp_stepped stepped;
	int status;

	if (!thread || ptrace(PTRACE_SINGLESTEP, tid, 0, (long)thread->signal))
		return JP_STEPPED_GONE;
	thread->signal = 0;
	thread->is_stopped = false;
	if (!wait_for_thread(threads, tid, &status))
		return JP_STEPPED_GONE;
	thread = jp_threads_find(threads, tid);
	if (WIFSTOPPED(status) && status >> 16 == 0 && WSTOPSIG(status) == SIGTRAP) {
		stepped = explain_trap(tid);
		if (stepped != JP_STEPPED_STOPPED) {
			thread->is_stopped = true;
			return stepped;
		}
	}
	handle_change(threads, tid, status);
	return WIFSTOPPED(status) ? JP_STEPPED_STOPPED : JP_STEPPED_GONE;
}

static int watch_children(struct jp_threads *threads, struct jp_error *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	threads->children = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return threads->children < 0 ? jp_fail(err, errno, "signalfd: %s", strerror(errno)) : 0;
}

/* Starts tracing thread @tid. No error if the thread is gone, or is traced already as the child of
 * a traced thread. */
static int seize_thread(struct jp_threads *threads, pid_t tid, struct jp_error *err)
{
	if (ptrace(PTRACE_SEIZE, tid, 0, OPTIONS)) {
		if (errno == ESRCH || jp_threads_find(threads, tid))
			return 0;
		return jp_fail(err, errno, "thread %d: ptrace: %s%s", tid, strerror(errno),
			       errno == EPERM ? " (another tracer, other rights, or "
						"kernel.yama.ptrace_scope)"
					      : "");
	}
	return add_thread(threads, tid) ? 0 : jp_fail(err, ENOMEM, "thread %d: out of memory", tid);
}

static bool is_tid(const char *name)
{
	uint64_t tid;

	return jp_number(name, 1, INT32_MAX, &tid);
}

/* Starts tracing the threads of @pid that are not traced yet. Stores their number in *@added. */
static int seize_new_threads(struct jp_threads *threads, pid_t pid, size_t *added,
			     struct jp_error *err)
{
	const size_t nr_before = threads->count;
	jp_cleanup_arguments struct jp_arguments names = {0};
	char path[64];
	int failed;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	failed = jp_untrusted_list(path, &names, is_tid, err);
	for (size_t i = 0; i < names.count && !failed; i++) {
		const pid_t tid = (pid_t)strtol(names.list[i], NULL, 10);

		if (!jp_threads_find(threads, tid))
			failed = seize_thread(threads, tid, err);
	}
	*added = threads->count - nr_before;
	return failed;
}

int jp_threads_attach(struct jp_threads *threads, pid_t pid, struct jp_error *err)
{
	size_t added = 1;
	int failed = watch_children(threads, err);

	/* Threads that are not traced yet may start others meanwhile: repeat until there is
	 * none. */
	while (!failed && added)
		failed = seize_new_threads(threads, pid, &added, err);
	return failed;
}

/* Runs in the forked child: waits until the child is traced, then executes the command. */
static void become_command(int ready, char *const *command)
{
	sigset_t no_signals;
	char byte;

	jp_interrupt_restore_pipe_signals();
	sigemptyset(&no_signals);
	sigprocmask(SIG_SETMASK, &no_signals, NULL);
	if (read(ready, &byte, 1) == 1)
		execvp(command[0], command);
	else
		_exit(127);
	dprintf(STDERR_FILENO, "jitproof trace: %s: %s\n", command[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

int jp_threads_launch(struct jp_threads *threads, char *const *command, struct jp_error *err)
{
	int ends[2], failed = watch_children(threads, err);
	jp_cleanup_close int read_end = -1, write_end = -1;

	if (failed)
		return failed;
	if (pipe2(ends, O_CLOEXEC))
		return jp_fail(err, errno, "pipe: %s", strerror(errno));
	read_end = ends[0];
	write_end = ends[1];
	fflush(NULL);
	threads->launched = fork();
	if (threads->launched < 0)
		return jp_fail(err, errno, "fork: %s", strerror(errno));
	if (!threads->launched) {
		close(write_end);
		become_command(read_end, command);
	}
	return seize_thread(threads, threads->launched, err) ?: jp_file_write(write_end, "", 1);
}

/* Detaches from @thread, which is stopped for that if it runs. Returns false, and stores *@status,
 * if it ended or changed its state otherwise. */
static bool release_thread(struct jp_threads *threads, struct jp_thread *thread, int *status)
{
	const pid_t tid = thread->tid;

	if (is_zombie(thread))
		return true;
	if (!thread->is_stopped) {
		if (ptrace(PTRACE_INTERRUPT, tid, 0, 0))
			return true; /* the thread ended */
		if (!wait_for_thread(threads, tid, status) || !WIFSTOPPED(*status))
			return false;
		note_stop_status(threads, jp_threads_find(threads, tid), *status);
		thread = jp_threads_find(threads, tid);
	}
	ptrace(PTRACE_DETACH, tid, 0, (long)thread->signal);
	return true;
}

void jp_threads_end(struct jp_threads *threads)
{
	while (threads->count) {
		const pid_t tid = threads->list[0].tid;
		int status = 0;

		if (!release_thread(threads, &threads->list[0], &status))
			handle_change(threads, tid, status);
		remove_thread(threads, tid);
	}
	free(threads->list);
	close(threads->children);
	threads->list = NULL;
}

void jp_threads_await(struct jp_threads *threads)
{
	while (threads->launched && !jp_interrupt_signal()) {
		int status;
		/* Wait for all processes, also children that started or ended while their parent
		 * was being detached: a parent sees the end of its child only after the tracer
		 * has. */
		const pid_t tid = waitpid(-1, &status, __WALL);

		if (tid > 0 && WIFSTOPPED(status))
			ptrace(PTRACE_DETACH, tid, 0, (long)(status >> 16 ? 0 : WSTOPSIG(status)));
		else if (tid == threads->launched || (tid < 0 && errno != EINTR)) {
			threads->status = tid < 0 ? 0 : status;
			threads->launched = 0;
		}
	}
}
