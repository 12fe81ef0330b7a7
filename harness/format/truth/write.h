/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "harness/base/clock.h"
#include "harness/base/error.h"
#include "harness/format/truth/format.h"

/* Writes the truth file, for workloads. A process writes one truth file, which its threads and
 * forked children share. A full file never stops the workload: next_slot exceeds the capacity, and
 * the reader reports it. */

/* Opens the truth file @path. @slots > 0: creates it, with that number of slots; it must not exist.
 * @slots 0: continues the file that an earlier program of this process (before an exec) wrote.
 * Returns 0, or -errno and a message. */
int jp_truth_open(const char *path, uint64_t slots, struct jp_error *err);
/* Cuts off the slots of the truth file @path that were never used, so that the file can be copied
 * in little time. Nothing may write it any more. Leaves a file alone that is not as expected. */
void jp_truth_trim(const char *path);
/* Reserves @count adjacent slots for records that belong together, such as the parts of a text.
 * Returns the number of the first slot. */
uint64_t jp_truth_reserve(uint64_t count);
/* Writes @record to slot @slot, and commits the slot by storing the seal last. */
void jp_truth_commit(uint64_t slot, struct jp_truth_record *record);
/* Returns a new id, unique in the file. */
uint32_t jp_truth_id(void);
/* Appends @record, with the caller's pid and tid if it has none. Tests use it for records that no
 * workload writes; workloads use the functions below. */
void jp_truth_append(struct jp_truth_record *record);

/* Acts of a workload (harness/format/truth/acts.c). Each act happened in [@before, @after];
 * functions without a bracket record the current time. harness/format/truth/format.h declares the
 * structures. */
/* Pid and tid in the outer pid namespace; 0: unknown. */
struct jp_truth_task_ids {
	uint32_t pid, tid;
};
/* Records the start of a process or of a new program in it, and the name of its thread. The new
 * process or program must call this itself, before other acts. @creator: tid of the thread that
 * called exec; 0: the process's first thread. */
void jp_truth_process_start(uint64_t before, enum jp_start_kind start_kind,
			    struct jp_truth_task_ids parent, uint32_t creator);
void jp_truth_process_exit(void);
/* Records the exit of another process, which was killed. */
void jp_truth_process_died(uint32_t pid, uint64_t before, uint64_t after);
/* Records the first act of a new thread (workloads/emit/thread.h) and its name, and resets the
 * cached pid and tid. Thread @creator created it after @before. */
void jp_truth_thread_start(uint64_t before, uint32_t creator);
void jp_truth_thread_exit(void);
/* Records that the kernel has released another thread, or a process (@tid equals @pid), after its
 * exit. */
void jp_truth_task_released(uint32_t pid, uint32_t tid);
void jp_truth_map(uint64_t before, uint64_t after, const struct jp_truth_mapping *mapping);
void jp_truth_protect(uint64_t before, uint64_t after, uint64_t addr, uint64_t len, unsigned prot);
void jp_truth_remap(uint64_t before, uint64_t after, uint64_t addr, uint64_t len, uint64_t to,
		    uint64_t to_len);
void jp_truth_unmap(uint64_t before, uint64_t after, uint64_t addr, uint64_t len);
/* Records that the range maps a file with code. @text: "BUILDID PATH". */
void jp_truth_file(uint64_t addr, uint64_t len, uint64_t ino, uint32_t maj, uint32_t min,
		   const char *text);
void jp_truth_code_load(uint64_t before, uint64_t after, const struct jp_truth_load *load);
void jp_truth_code_move(uint64_t before, uint64_t after, uint32_t function, uint64_t to);
void jp_truth_code_unload(uint64_t before, uint64_t after, uint32_t function);
void jp_truth_enter(const struct jp_truth_entry *entry);
/* Reads the clocks when an activation begins: after jp_truth_enter(), directly before the call. */
void jp_truth_begin_activation(void);
/* The clocks when a thread leaves a path: CLOCK_MONOTONIC and the thread's CPU time, in ns. Read
 * before anything else happens. */
struct jp_truth_clocks {
	uint64_t time, cpu;
};
static inline struct jp_truth_clocks jp_truth_read_clocks(void)
{
	struct jp_truth_clocks clocks;

	/* Keep this order: at the end of a system call the kernel may switch to another thread. */
	clocks.time = jp_clock_now();
	clocks.cpu = jp_clock_thread_cpu();
	return clocks;
}
/* Records the end of the thread's activation of @path. @flags: JP_LEAVE_*. @ip, @sp: registers of
 * the interrupted instruction, or 0. */
void jp_truth_leave(const struct jp_truth_clocks *clocks, uint32_t path, uint64_t flags,
		    uint64_t ip, uint64_t sp);
/* Records @text, the executable lines of /proc/self/maps, read in [@before, @after]. */
void jp_truth_maps(uint64_t before, uint64_t after, const char *text);
void jp_truth_mark(uint64_t before, uint64_t after, const char *text, uint64_t value);
/* Records that the thread waited until @addr was executable. @handled: time (ns) when its signal
 * handler started. */
void jp_truth_waited_for_exec(uint64_t before, uint64_t after, uint64_t addr, uint64_t handled);

/* Facts, to which acts refer by id. Each function returns the new id. */

uint32_t jp_truth_text(const char *text);
uint32_t jp_truth_layout(const struct jp_truth_insn *insns, uint32_t count);
uint32_t jp_truth_path(const uint32_t *functions, uint32_t depth);
uint32_t jp_truth_root(enum jp_method method, const uint64_t *frames, uint32_t count);
/* Records facts about a function's frames that its layout does not contain. @word: value of the
 * word in its code (jp_emit_set_word()). @detour: id of the root that bp leads to at instructions
 * where bp is no frame pointer; 0: none. @flags: JP_FRAMES_*. */
uint32_t jp_truth_frames(enum jp_cfi_status cfi_status, uint64_t word, uint32_t detour,
			 uint64_t flags);

/* Pids in the truth are those of the outer pid namespace. @proc: a descriptor of that
 * namespace's /proc, which must stay open. From now on this process and its children read their
 * pids there, since a pid namespace hides them. Returns 0 or -errno. */
int jp_truth_set_outer_proc(int proc);
/* Returns the descriptor passed to jp_truth_set_outer_proc(), or -1. */
int jp_truth_get_outer_proc(void);
/* Returns the outer pid of the process @pidfd, whose pid here is @pid, or -errno. */
int64_t jp_truth_find_outer_pid(int pidfd, pid_t pid);
/* Returns the calling thread's outer ids. */
struct jp_truth_task_ids jp_truth_get_own_ids(void);
/* Resets the cached pid and tid. To be called in the child after fork, and in a parent that shared
 * its memory with a child. */
void jp_truth_new_task(void);
