// SPDX-License-Identifier: GPL-2.0-only
/* What an exec leaves in the ring of the process that started it. */
#include <pthread.h>
#include <unistd.h>

#include "harness/facts/tell.h"
#include "harness/facts/tiny.h"

/* @attr watches while a child executes a program by @way; all records. */
static void tell_exec(struct jp_answer *answer, struct perf_event_attr attr, jp_tiny_way way)
{
	struct jp_pid_labels labels = jp_pid_labels_self();
	int program = jp_tiny_make(answer);
	struct jp_watch watch;
	bool opened;

	if (program < 0)
		return;
	opened = attr.enable_on_exec ? jp_watch_open_disabled(&watch, &attr, 16, answer)
				     : jp_watch_open(&watch, &attr, 16, answer);
	if (!opened)
		return;
	jp_tiny_in_child(answer, program, way);
	jp_tell_records(answer, &watch, &labels);
}

static void exec_first(struct jp_answer *answer)
{
	tell_exec(answer, jp_watch_sideband(), jp_tiny_run);
}

static void exec_by_descriptor(struct jp_answer *answer)
{
	tell_exec(answer, jp_watch_sideband(), jp_tiny_run_descriptor);
}

static void *exec_in_thread(void *context)
{
	jp_tiny_run(*(int *)context);
}

static void run_in_thread(int program)
{
	pthread_t thread;

	pthread_create(&thread, NULL, exec_in_thread, &program);
	for (;;)
		pause();
}

static void exec_by_thread(struct jp_answer *answer)
{
	tell_exec(answer, jp_watch_sideband(), run_in_thread);
}

static void exec_removes(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_sideband();

	jp_attr_set(&attr, JP_ATTR_REMOVE_ON_EXEC);
	tell_exec(answer, attr, jp_tiny_run);
}

static void exec_enables(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_sideband();

	attr.enable_on_exec = 1;
	tell_exec(answer, attr, jp_tiny_run);
}

static const struct jp_fact facts[] = {
	{"process.exec",
	 "B, a child of A, executes a static program from a memfd by its path in /proc; all "
	 "records.",
	 .probe = exec_first},
	{"process.exec.by_descriptor",
	 "B, a child of A, executes a memfd by its descriptor 99 (execveat); all records: how the "
	 "process is called.",
	 .probe = exec_by_descriptor},
	{"process.exec.by_thread",
	 "A thread (C) of B, a child of A, executes a program; all records: what becomes of the "
	 "other thread.",
	 .probe = exec_by_thread},
	{"process.exec.remove_on_exec", "The same as process.exec with attr.remove_on_exec.",
	 .probe = exec_removes},
	{"process.exec.enable_on_exec",
	 "The same as process.exec with an event that is disabled until the exec.",
	 .probe = exec_enables},
};
static const struct jp_fact_family execs = {"execs", facts, sizeof(facts) / sizeof(facts[0])};
JP_REGISTER(fact, execs);
