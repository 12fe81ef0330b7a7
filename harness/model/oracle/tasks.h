/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/oracle/truth.h"

/* Who was there, by the truth: each thread from its start to its end, and its names. */

/* A thread, a process's first one too; it stays the same through an exec. */
struct jp_task {
	uint32_t pid, tid;
	uint32_t ppid, ptid;    /* who made it; 0: not known */
	uint64_t before, after; /* the bracket in which it was made; before 0: it was launched */
	/* That in which it ended. @ending UINT64_MAX: it never did; @ended UINT64_MAX: at some time
	 * after @ending. */
	uint64_t ending, ended;
	enum jp_truth_how how; /* the first that the truth tells of it */
	bool forked;           /* a fork or a clone made it, and the truth tells of that */
	bool exits;            /* it ends under its own number */
};

/* What the kernel calls a thread from some time within [before, after] on. */
struct jp_task_name {
	uint32_t pid, tid;
	uint64_t before, after;
	bool exec, launch; /* an exec gave it; the one that the process was launched with */
	const char *text;  /* NULL: the truth does not tell */
};

struct jp_tasks {
	struct jp_task *tasks; /* by tid, before */
	size_t count;
	struct jp_task_name *names; /* by tid, before */
	size_t nr_names;
};

/* 0 or -ENOMEM; free it in both cases. Texts are the truth's. */
int jp_tasks_of(const struct jp_truth *truth, struct jp_tasks *tasks);
void jp_tasks_free(struct jp_tasks *tasks);
/* The last that began by @time: it may have ended since. NULL: none. */
struct jp_task *jp_tasks_at(const struct jp_tasks *tasks, uint32_t tid, uint64_t time);
const struct jp_task_name *jp_tasks_name(const struct jp_tasks *tasks, uint32_t tid, uint64_t time);
