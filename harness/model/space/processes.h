/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"
#include "harness/format/event.h"

/* Tracks which processes share an address space over time, for any per-process data. Applies fork,
 * vfork, clone(CLONE_VM), exec, exit and the reuse of pids. Each of these makes the pid a new
 * incarnation. */
struct jp_process {
	uint32_t pid;
	/* Links of the ring of processes that share an address space. */
	struct jp_process *shares, *shared_by;
};

/* Callbacks for the data that the user of this file keeps per process. Each returns 0, or an error
 * that jp_processes_apply() returns. */
struct jp_process_rules {
	size_t size; /* number of bytes of the data, which begins with struct jp_process and starts
			as zeros */
	/* Frees the data of an incarnation that ended. Called only when no other process shares the
	 * data. */
	int (*end)(void *context, struct jp_process *process, const struct jp_event *event);
	/* Gives @child a copy of @parent's data, or the same data if they share a space. */
	int (*inherit)(void *context, struct jp_process *child, struct jp_process *parent,
		       const struct jp_event *event);
};

struct jp_processes {
	struct jp_map by_pid;
	const struct jp_process_rules *rules;
	void *context;
	struct jp_process *last;
};

/* Returns process @pid, or NULL if there is none yet. Processes never move and are never
 * removed. */
struct jp_process *jp_processes_find(struct jp_processes *processes, uint32_t pid);
/* Returns process @pid, which is added if it is new, or NULL if there is no memory. */
struct jp_process *jp_processes_at(struct jp_processes *processes, uint32_t pid);
/* Applies EXEC, COMM with exec, FORK (except of a thread) and END to the event's process; ignores
 * other events. Returns 0, -ENOMEM, or the error of a callback. */
int jp_processes_apply(struct jp_processes *processes, const struct jp_event *event);
/* Returns the next process, in no particular order, or NULL after the last. *@cursor starts as 0.
 */
struct jp_process *jp_processes_next(const struct jp_processes *processes, size_t *cursor);
/* Frees all processes. The caller frees their own data first. */
void jp_processes_free(struct jp_processes *processes);
