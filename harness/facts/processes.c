// SPDX-License-Identifier: GPL-2.0-only
/* Facts about the records of processes and threads: which records there are, with which pids, and
 * in which order. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/facts/probe_fact.h"
#include "harness/facts/test_region.h"
#include "harness/facts/state_maps.h"

static void fork_child_once(struct jp_answer *answer, struct jp_watch *watch)
{
	pid_t pid;

	jp_test_region_map(answer, 0, 2, JP_RW);
	pid = jp_fact_fork(answer);
	if (pid == 0) {
		jp_test_region_protect(answer, 0, 1, JP_RX);
		_exit(0);
	}
	jp_fact_wait(answer, pid);
	jp_answer_records(answer, watch);
}

static void fork_twice(struct jp_answer *answer, struct jp_watch *watch)
{
	pid_t pid = jp_fact_fork(answer);

	if (pid == 0) {
		pid_t inner = jp_fact_fork(answer);

		if (inner == 0) {
			jp_test_region_map(answer, 0, 1, JP_RX);
			_exit(0);
		}
		jp_fact_wait(answer, inner);
		_exit(0);
	}
	jp_fact_wait(answer, pid);
	jp_answer_records(answer, watch);
}

static int map_and_end(void *context)
{
	jp_test_region_map(context, 0, 1, JP_RX);
	return 0;
}

static void clone_child(struct jp_answer *answer, struct jp_watch *watch)
{
	static char stack[1 << 16] __attribute__((aligned(16)));
	pid_t pid =
		clone(map_and_end, stack + sizeof(stack), (int)answer->parameter | SIGCHLD, answer);

	if (pid < 0)
		jp_answer_failed(answer, "clone");
	jp_fact_wait(answer, pid);
	jp_answer_records(answer, watch);
}

static void clone_with_pid(struct jp_answer *answer)
{
	pid_t wanted_pid = 5000;
	/* struct clone_args as of Linux 5.5. */
	uint64_t args[10] = {0, 0, 0, 0, SIGCHLD, 0, 0, 0, (uint64_t)(uintptr_t)&wanted_pid, 1};
	long pid;

	/* Try pids until one is free. */
	do {
		wanted_pid--;
		pid = syscall(SYS_clone3, args, sizeof(args));
	} while (pid < 0 && errno == EEXIST && wanted_pid > 1000);
	if (pid == 0)
		_exit(0);
	if (pid < 0 && errno == EPERM)
		jp_answer_missing(answer, "clone3 with set_tid: EPERM");
	else
		jp_answer_text(answer, "%s",
			       pid == wanted_pid ? "the pid asked for"
						 : jp_answer_errno(pid < 0 ? errno : 0));
	if (pid > 0)
		jp_fact_wait(answer, (pid_t)pid);
}

static void rename_thread(struct jp_answer *answer, struct jp_watch *watch)
{
	prctl(PR_SET_NAME, "a-name-of-more-than-fifteen");
	jp_answer_records(answer, watch);
}

static void *store_tid(void *context)
{
	*(pid_t *)context = gettid();
	return NULL;
}

static void run_thread(struct jp_answer *answer, struct jp_watch *watch)
{
	pthread_t thread;
	pid_t tid = 0;

	if (pthread_create(&thread, NULL, store_tid, &tid)) {
		jp_answer_missing(answer, "pthread_create");
		return;
	}
	pthread_join(thread, NULL);
	/* pthread_join() may return before the kernel writes the EXIT record; the tid is free only
	 * afterwards. */
	while (syscall(SYS_tgkill, getpid(), tid, 0) == 0)
		sched_yield();
	jp_answer_records(answer, watch);
}

static void unshare_namespace(struct jp_answer *answer, struct jp_watch *watch)
{
	struct jp_event event;

	if (unshare(CLONE_NEWUTS))
		jp_answer_failed(answer, "unshare(CLONE_NEWUTS)");
	jp_answer_list(answer);
	while (jp_watch_next(watch, &event))
		if (event.record_type == JP_PERF_RECORD_NAMESPACES)
			jp_answer_number(answer, event.namespaces.count);
}

static void count_switches(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_sideband();
	enum { WAIT_MS = 2 };
	unsigned int switches_in = 0, switches_out = 0;
	struct jp_event event;
	struct jp_watch watch;

	attr.context_switch = 1;
	attr.inherit = 0;
	if (!jp_watch_open(&watch, &attr, 16, answer))
		return;
	/* This wait always switches the thread out, because nothing can end it early. */
	poll(NULL, 0, WAIT_MS);
	while (jp_watch_next(&watch, &event)) {
		if (event.record_type != JP_PERF_RECORD_SWITCH ||
		    event.misc & JP_PERF_MISC_SWITCH_PREEMPTED)
			continue;
		switches_in += !(event.misc & JP_PERF_MISC_SWITCH_OUT);
		switches_out += !!(event.misc & JP_PERF_MISC_SWITCH_OUT);
	}
	jp_answer_list(answer);
	/* State only whether there were such records: their number depends on the scheduler. */
	jp_answer_text(answer, "out %s", switches_out ? "told" : "not told");
	jp_answer_text(answer, "in %s", switches_in ? "told" : "not told");
}

static const struct jp_fact facts[] = {
	{"process.fork", "A forks B, which makes an inherited page r-x and ends; all records.",
	 .watched = fork_child_once},
	{"process.grandchild", "A forks B, B forks C, which maps a page r-x; all records.",
	 .watched = fork_twice},
	{"process.shared_memory",
	 "B, which shares A's memory (CLONE_VM), maps a page r-x; all records, which show the "
	 "process of the mapping.",
	 .watched = clone_child, .parameter = CLONE_VM},
	{"process.pid_namespace", "B, in a pid namespace of its own, maps a page r-x; all records.",
	 .watched = clone_child, .parameter = CLONE_NEWPID},
	{"process.clone3.set_tid",
	 "Calls clone3 with set_tid; whether the child has the pid asked for, or the error.",
	 .probe = clone_with_pid},
	{"process.renamed", "A thread gets a name of 27 bytes (PR_SET_NAME); the record.",
	 .watched = rename_thread},
	{"process.thread", "Process A has a thread (B) that ends; all records (C is A's parent).",
	 .watched = run_thread},
	{"process.namespaces",
	 "A process unshares its UTS namespace while attr.namespaces is set; number of "
	 "namespaces in the NAMESPACES record.",
	 .watched = unshare_namespace, .bit = JP_ATTR_NAMESPACES},
	{"process.switch",
	 "A process waits for 2 ms while attr.context_switch is set; whether SWITCH records "
	 "report both directions.",
	 .probe = count_switches},
};
JP_REGISTER_ROWS(fact, facts);
