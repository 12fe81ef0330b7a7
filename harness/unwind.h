/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_UNWIND_H
#define JP_UNWIND_H

#include "harness/event.h"
#include "harness/replay.h"

/*
 * Unwinding as profilers do it: from the user registers and the stack dump of a sample, driven by
 * the mappings that the capture knows. Call frame information for ELF, the frame-pointer rule for
 * anonymous, memfd and other code without a file, and a stop where no mapping is known.
 */
enum jp_unwind_stop {
	JP_UNWIND_ROOT,      /* call frame information says: outermost */
	JP_UNWIND_UNMAPPED,  /* an address in no known mapping */
	JP_UNWIND_NO_ELF,    /* a file mapping whose ELF could not be had */
	JP_UNWIND_NO_CFI,    /* an address that the ELF's call frame information does not cover */
	JP_UNWIND_BAD_FRAME, /* the frame pointer leads nowhere: not above sp, unaligned */
	JP_UNWIND_DUMP_END,  /* the dump ends before the stack does */
	JP_UNWIND_MAX,       /* the caller's room is full */
	JP_UNWIND_NO_DATA,   /* the sample has no registers or no stack */
};
const char *jp_unwind_stop_text(enum jp_unwind_stop stop);

struct jp_unwinder;
/* @elf_dir: the run directory's elf/ (NULL: none). @system: also open files at their recorded paths
 * when their build id, or device and inode, fit. */
struct jp_unwinder *jp_unwinder_new(const char *elf_dir, bool system);
void jp_unwinder_free(struct jp_unwinder *unwinder);
/* Also follow frame pointers where a file has no call frame information or cannot be had, as perf
 * does (the frames may be wrong: rbp is any register there); off at first. */
void jp_unwinder_frame_pointers(struct jp_unwinder *unwinder, bool follow);
/* Fills @frames (innermost first, frames[0] = the sampled user ip); returns their number; *@stop
 * says why it ended and, for UNMAPPED/NO_ELF/NO_CFI, *@where at which address: the one that was
 * looked up, which for a return address is one less than in @frames. A replay's mappings remember
 * what they were unwound with: one unwinder for each replay, and it is freed after the last walk.
 */
uint32_t jp_unwind(struct jp_unwinder *unwinder, struct jp_replay *replay,
		   const struct jp_event *sample, uint64_t *frames, uint32_t room,
		   enum jp_unwind_stop *stop, uint64_t *where);

#endif
