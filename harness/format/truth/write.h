/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/clock.h"
#include "harness/base/error.h"
#include "harness/format/truth/format.h"

/*
 * The writer's side of the truth, for workloads. One per process; threads and forked children share
 * it. A full file never stops the workload: next_slot runs past capacity and the reader says so.
 */

/* @slots > 0: creates @path, which must not exist (another run's truth is never added to). 0: goes
 * on with the file of an earlier image of this process (exec). */
int jp_truth_open(const char *path, uint64_t slots, struct jp_error *err);
/* @count slots in a row, for one fact of as many records: the first. */
uint64_t jp_truth_take(uint64_t count);
/* Fills the slot and commits it. */
void jp_truth_commit(uint64_t slot, struct jp_truth_record *record);
/* A new id, unique in the file. */
uint32_t jp_truth_id(void);
/* Appends @record as it is; the caller's pid and tid where it has none. The functions below say
 * what workloads do: this is for those who write what no workload would. */
void jp_truth_append(struct jp_truth_record *record);

/*
 * What a workload does (harness/format/truth/acts.c). Each act lies in [@before, @after]; those
 * without a bracket are now. The structures are harness/format/truth/format.h's.
 */
/* As the outside sees them; 0: not known. */
struct jp_truth_task_ids {
	uint32_t pid, tid;
};
/* The new process's or image's first act, by itself; its name follows. @by: the thread that called
 * exec, 0: the process's first one. */
void jp_truth_process_start(uint64_t before, enum jp_truth_how how, struct jp_truth_task_ids parent,
			    uint32_t by);
void jp_truth_process_exit(void);
/* Of another process, which was killed and cannot speak for itself any more. */
void jp_truth_process_died(uint32_t pid, uint64_t before, uint64_t after);
/* A new thread's first act (workloads/emit/thread.h): it forgets whose pid and tid were cached. Its
 * name follows. @by made it, after @before. */
void jp_truth_thread_start(uint64_t before, uint32_t by);
void jp_truth_thread_exit(void);
/* Another thread that ended, or a process (@tid is @pid): the kernel has let go of it by now. */
void jp_truth_gone(uint32_t pid, uint32_t tid);
void jp_truth_map(uint64_t before, uint64_t after, const struct jp_truth_mapping *mapping);
void jp_truth_protect(uint64_t before, uint64_t after, uint64_t addr, uint64_t len, unsigned prot);
void jp_truth_remap(uint64_t before, uint64_t after, uint64_t addr, uint64_t len, uint64_t to,
		    uint64_t to_len);
void jp_truth_unmap(uint64_t before, uint64_t after, uint64_t addr, uint64_t len);
/* @text: "BUILDID PATH". */
void jp_truth_file(uint64_t addr, uint64_t len, uint64_t ino, uint32_t maj, uint32_t min,
		   const char *text);
void jp_truth_code_load(uint64_t before, uint64_t after, const struct jp_truth_load *load);
void jp_truth_code_move(uint64_t before, uint64_t after, uint32_t function, uint64_t to);
void jp_truth_code_unload(uint64_t before, uint64_t after, uint32_t function);
void jp_truth_enter(const struct jp_truth_entry *entry);
/* After jp_truth_enter(), with nothing left to do but the call: what comes now is the path. */
void jp_truth_inside(void);
/* When a thread left a path, and its CPU time then: taken before anything else is done. */
struct jp_truth_left {
	uint64_t time, cpu;
};
static inline struct jp_truth_left jp_truth_left_now(void)
{
	struct jp_truth_left left;

	/* In this order: at the end of a system call another thread may have its turn. */
	left.time = jp_clock_now();
	left.cpu = jp_clock_thread_cpu();
	return left;
}
/* @flags: JP_LEAVE_*; @ip and @sp of the interrupted instruction. */
void jp_truth_leave(const struct jp_truth_left *left, uint32_t path, uint64_t flags, uint64_t ip,
		    uint64_t sp);
/* The executable lines of /proc/self/maps, read in [@before, @after]. */
void jp_truth_maps(uint64_t before, uint64_t after, const char *text);
/* The calling thread's name, as the kernel has it. */
void jp_truth_comm(uint64_t before, uint64_t after, const char *name);
void jp_truth_mark(uint64_t before, uint64_t after, const char *text, uint64_t value);
/* @handled: when the handler began to run. */
void jp_truth_wait(uint64_t before, uint64_t after, uint64_t addr, uint64_t handled);

/* Facts. Each returns the id that it gave. */
uint32_t jp_truth_text(const char *text);
uint32_t jp_truth_layout(const struct jp_truth_insn *insns, uint32_t count);
uint32_t jp_truth_path(const uint32_t *functions, uint32_t depth);
uint32_t jp_truth_root(enum jp_method method, const uint64_t *frames, uint32_t count);
/* @detour: the root that bp leads to where it is no frame pointer; 0: nothing is there. */
uint32_t jp_truth_frames(enum jp_cfi_status cfi_status, uint64_t word, uint32_t detour,
			 uint64_t flags);

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
/* The calling thread, as the outside sees it. */
struct jp_truth_task_ids jp_truth_self(void);
/* Call in the child after fork, and in the parent that lent a child its memory: forgets cached pid
 * and tid. */
void jp_truth_new_task(void);
