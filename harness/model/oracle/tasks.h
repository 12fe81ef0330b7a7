/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/oracle/truth.h"

/* All threads of the truth, with their lifetimes and names. */

/* A thread, possibly the main one; it survives an exec. */
struct jp_task {
	uint32_t pid, tid;
	uint32_t ppid, ptid;    /* its creator; 0: unknown */
	uint64_t before, after; /* bracket of its creation; @before 0: launched */
	/* Bracket of its end. @ending UINT64_MAX: it did not end; @ended UINT64_MAX: unknown, after
	 * @ending. */
	uint64_t ending, ended;
	enum jp_truth_how how; /* its first event in the truth */
	bool forked;           /* the truth has the fork or clone that created it */
	bool exits;            /* the thread exits with the tid with which it began */
};

/* A thread's name in the kernel, set within [before, after]. */
struct jp_task_name {
	uint32_t pid, tid;
	uint64_t before, after;
	bool exec, launch; /* set by exec; set by the launch of the process */
	const char *text;  /* NULL: unknown */
};

struct jp_tasks {
	struct jp_task *tasks; /* by tid, then before */
	size_t count;
	struct jp_task_name *names; /* by tid, then before */
	size_t nr_names;
};

/* Fills @tasks; texts stay the truth's. Returns 0 or -ENOMEM; free @tasks in both cases. */
int jp_tasks_of(const struct jp_truth *truth, struct jp_tasks *tasks);
void jp_tasks_free(struct jp_tasks *tasks);
/* Returns the last task of @tid that started until @time, or NULL. The task may have ended since.
 */
struct jp_task *jp_tasks_at(const struct jp_tasks *tasks, uint32_t tid, uint64_t time);
/* Returns the last name that @tid got until @time, or NULL. */
const struct jp_task_name *jp_tasks_name(const struct jp_tasks *tasks, uint32_t tid, uint64_t time);
