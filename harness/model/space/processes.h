/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"
#include "harness/format/event.h"

/*
 * Which process is in which address space, over time: what fork, vfork, clone(CLONE_VM), exec, exit
 * and the reuse of a pid mean is here, for whatever is kept of a process. A pid names another
 * incarnation after each of them.
 */
struct jp_process {
	uint32_t pid;
	struct jp_process *shares, *shared_by; /* the next in the same address space, round; back */
};

/* What becomes of what is kept. Each returns 0, or what jp_processes_apply() is to return. */
struct jp_process_rules {
	size_t size; /* of what is kept, all zero at first; begins with struct jp_process */
	/* The incarnation is over, and what it had is gone: nobody shares it any more. */
	int (*end)(void *context, struct jp_process *process, const struct jp_event *event);
	/* @child has what @parent has: a copy; or, if they share, the same from now on. */
	int (*inherit)(void *context, struct jp_process *child, struct jp_process *parent,
		       const struct jp_event *event);
};

struct jp_processes {
	struct jp_map by_pid;
	const struct jp_process_rules *rules;
	void *context;
	struct jp_process *last;
};

/* NULL: none was made yet. Processes stay where they are, and are never removed. */
struct jp_process *jp_processes_find(struct jp_processes *processes, uint32_t pid);
/* The same, made; NULL: no memory. */
struct jp_process *jp_processes_at(struct jp_processes *processes, uint32_t pid);
/* The event's own process, as EXEC, COMM with exec, FORK (but of a thread) and END leave it; other
 * events change nothing. 0, -ENOMEM, or what a rule returned. */
int jp_processes_apply(struct jp_processes *processes, const struct jp_event *event);
/* Each once, in no order: *@at starts as 0. */
struct jp_process *jp_processes_next(const struct jp_processes *processes, size_t *at);
/* What they keep is freed before. */
void jp_processes_free(struct jp_processes *processes);
