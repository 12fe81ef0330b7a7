/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_TRUTH_WRITE_H
#define JP_TRUTH_WRITE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"
#include "harness/format/truth/format.h"

/*
 * The writer's side of the truth, for workloads. One per process; threads and forked children share
 * it. A full file never stops the workload: next_slot runs past capacity and the reader says so.
 */

/* @slots > 0: creates @path, which must not exist (another run's truth is never added to). 0: goes
 * on with the file of an earlier image of this process (exec). */
int jp_truth_open(const char *path, uint64_t slots, struct jp_error *err);
/* CLOCK_MONOTONIC in ns. */
uint64_t jp_truth_now(void);
/* A new id, unique in the file. */
uint32_t jp_truth_id(void);
/* Appends one record; pid and tid are filled in. */
void jp_truth_put(enum jp_truth_type type, uint64_t before, uint64_t after, uint64_t a0,
		  uint64_t a1, uint64_t a2, uint64_t a3);
/* Facts that take several records. Each returns the id that it gave. */
uint32_t jp_truth_text(const char *text);
uint32_t jp_truth_layout(const struct jp_truth_insn *insns, uint32_t count);
uint32_t jp_truth_path(const uint32_t *functions, uint32_t depth);
uint32_t jp_truth_root(enum jp_method method, const uint64_t *frames, uint32_t count);
/* @detour: the root that bp leads to where it is no frame pointer; 0: nothing is there. */
uint32_t jp_truth_frames(enum jp_cfi_status cfi_status, uint64_t word, uint32_t detour,
			 uint64_t flags);
/* The same about another process, which cannot speak for itself any more: it was killed. */
void jp_truth_put_of(uint32_t pid, enum jp_truth_type type, uint64_t before, uint64_t after);
/*
 * Pids in the truth are as the outside sees them. @proc: a descriptor of the outside's /proc, which
 * must stay open; from now on every task of this process and its children asks there who it is
 * (a pid namespace hides that from it). 0 or -errno.
 */
int jp_truth_outside(int proc);
/* The descriptor given to jp_truth_outside(), or -1. */
int jp_truth_outside_proc(void);
/* The number that the outside has for the process of @pidfd, our @pid. -errno where it cannot. */
int64_t jp_truth_outside_pid(int pidfd, pid_t pid);
/* Call in the child after fork, in a new thread, after exec: forgets cached pid and tid. */
void jp_truth_new_task(void);

#endif
