// SPDX-License-Identifier: GPL-2.0-only
/* Facts about the records that an exec of a child causes. */
#include <pthread.h>
#include <unistd.h>

#include "harness/facts/state_maps.h"
#include "harness/facts/tiny_program.h"

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

enum { BY_PATH, BY_DESCRIPTOR, BY_THREAD, REMOVED, ENABLED };

/* Lets a child execute a program in one of several ways (@answer->parameter), and states all
 * records of it. */
static void execute(struct jp_answer *answer)
{
	static const jp_tiny_way ways[] = {jp_tiny_run, jp_tiny_run_descriptor, run_in_thread,
					   jp_tiny_run, jp_tiny_run};
	struct perf_event_attr attr = jp_watch_sideband();
	int program = jp_tiny_make(answer);
	struct jp_watch watch;

	attr.enable_on_exec = answer->parameter == ENABLED;
	if (answer->parameter == REMOVED)
		jp_attr_set_bit(&attr, JP_ATTR_REMOVE_ON_EXEC);
	if (program < 0 || !(answer->parameter == ENABLED ? jp_watch_open_disabled : jp_watch_open)(
				   &watch, &attr, JP_WATCH_PAGES, answer))
		return;
	jp_tiny_run_in_child(answer, program, ways[answer->parameter]);
	jp_answer_records(answer, &watch);
}

static const struct jp_fact facts[] = {
	{"process.exec",
	 "B, a child of A, executes a static program from a memfd by its path in /proc; all "
	 "records.",
	 .probe = execute, .parameter = BY_PATH},
	{"process.exec.by_descriptor",
	 "B, a child of A, executes a memfd by its descriptor 99 (execveat); all records, which "
	 "show the process's name.",
	 .probe = execute, .parameter = BY_DESCRIPTOR},
	{"process.exec.by_thread",
	 "A thread (C) of B, a child of A, executes a program; all records, which show the end "
	 "of B's other thread.",
	 .probe = execute, .parameter = BY_THREAD},
	{"process.exec.remove_on_exec",
	 "B, a child of A, executes a static program from a memfd with attr.remove_on_exec; all "
	 "records.",
	 .probe = execute, .parameter = REMOVED},
	{"process.exec.enable_on_exec",
	 "B, a child of A, executes a static program from a memfd with an event that is "
	 "disabled until the exec; all records.",
	 .probe = execute, .parameter = ENABLED},
};
JP_REGISTER_ROWS(fact, facts);
