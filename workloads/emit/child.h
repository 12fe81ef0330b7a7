/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "harness/format/truth/write.h"

struct jp_child {
	pid_t pid;        /* as its maker sees it; 0: none, or reaped */
	uint32_t outside; /* as the truth has it */
	int pidfd;        /* -1: the kernel has none */
	int ready;        /* we read what it says */
	int control;      /* we write what it shall do */
	uint64_t forked;  /* ns: it was not there before */
	struct jp_child *next;
};

/*
 * What all ways to make a process share. A list has all that live: a forked child drops its copies
 * of their descriptors, else nobody's end of file would ever come. Who makes one holds the lock.
 */
void jp_children_lock(void);
void jp_children_unlock(void);
/* In a forked child: the lock is nobody's, and they are the parent's. */
void jp_children_forget(void);

/* @theirs: the child's ends of the two pipes, ready and control. */
int jp_child_open(struct jp_child *process, int theirs[2]);
void jp_child_close(struct jp_child *process);
/* It was made; @pid < 0: -errno, and it was not. 0 or that. */
int jp_child_keep(struct jp_child *process, pid_t pid, int theirs[2]);
/* As jp_process_reap(). @since: when it may have died at the earliest, should it not tell itself.
 */
int jp_child_reap(struct jp_child *process, uint64_t since);

/* In the child, whatever it will do. */
void jp_child_begin(uint64_t before, struct jp_truth_task_ids parent, enum jp_truth_how how);
void jp_child_end(int status) __attribute__((noreturn));
