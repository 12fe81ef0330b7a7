/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "harness/format/truth/write.h"

struct jp_child {
	pid_t pid;          /* pid in the parent's namespace; 0: no process, or already reaped */
	uint32_t outer_pid; /* pid outside of its namespace, as the truth records it */
	int pidfd;          /* -1: the kernel has no pidfds */
	int message_pipe;   /* pipe from which we read the child's messages */
	int control;        /* pipe to which we write commands for the child */
	uint64_t absent_at; /* a time in ns at which the child did not exist yet */
	struct jp_child *next;
};

/* All functions that create a process share a list of living children. A forked child closes its
 * copies of the pipes to its siblings; otherwise no pipe would ever reach its end of file. */

/* Locks the list of children. Hold the lock while creating a child. */
void jp_children_lock(void);
void jp_children_unlock(void);
/* Releases the lock and forgets the list in a forked child: the children in it belong to the
 * parent. */
void jp_children_forget(void);

/* Creates the pipes `ready` and `control` of @process. Stores the ends that the child uses in
 * @child_ends. Returns 0 or -errno. */
int jp_child_open(struct jp_child *process, int child_ends[2]);
void jp_child_close(struct jp_child *process);
/* Closes the child's pipe ends @child_ends and adds the child @pid to the list. If creating the
 * child failed, @pid is -errno: closes all pipes and returns @pid. Else returns 0. */
int jp_child_keep(struct jp_child *process, pid_t pid, int child_ends[2]);
/* Waits for the child and reaps it. Returns as jp_process_reap(). @start_time: earliest time at
 * which the child can have died, if it does not report its end. */
int jp_child_reap(struct jp_child *process, uint64_t start_time);

/* Records the start of the calling process, a new child, in the truth. */
void jp_child_begin(uint64_t before, struct jp_truth_task_ids parent, enum jp_start_kind how);
void jp_child_end(int status) __attribute__((noreturn));
