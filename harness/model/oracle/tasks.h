/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/oracle/truth.h"

/* All threads (tasks) of the truth, with their lifetimes and names. */

/* A thread, which may be the main one of its process. The main thread survives an exec. */
struct jp_task {
	uint32_t pid, tid;
	uint32_t ppid, ptid;    /* pid and tid of the thread that created it; 0: unknown */
	uint64_t before, after; /* bracket of its creation; @before 0: the process was launched */
	/* Bracket of its end. @ending UINT64_MAX: it did not end. @ended UINT64_MAX: the end of the
	 * bracket is unknown. */
	uint64_t ending, ended;
	enum jp_start_kind start_kind; /* how it was created, by its first event in the truth */
	bool is_forked;                /* the truth contains the fork or clone that created it */
	bool exits; /* the thread exits with the tid with which it began (an exec may change the
		       tid) */
};

/* A thread's name in the kernel, set within [before, after]. */
struct jp_task_name {
	uint32_t pid, tid;
	uint64_t before, after;
	/* @exec: an exec set the name; @launch: the launch of the process set it. */
	bool exec, launch;
	const char *text; /* NULL: unknown */
};

struct jp_tasks {
	struct jp_task *tasks; /* sorted by tid, then @before */
	size_t count;
	struct jp_task_name *names; /* sorted by tid, then @before */
	size_t nr_names;
};

/* Fills @tasks from @truth, which keeps the texts. Returns 0 or -ENOMEM; the caller frees @tasks in
 * both cases. */
int jp_tasks_collect(const struct jp_truth *truth, struct jp_tasks *tasks);
void jp_tasks_free(struct jp_tasks *tasks);
/* Returns the last task of @tid that started until @time, or NULL. The task may have ended since.
 */
struct jp_task *jp_tasks_at(const struct jp_tasks *tasks, uint32_t tid, uint64_t time);
/* Returns the last name that @tid got until @time, or NULL. */
const struct jp_task_name *jp_tasks_name(const struct jp_tasks *tasks, uint32_t tid, uint64_t time);
