/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/model/unwind/methods.h"
#include "harness/model/space/replay.h"

/*
 * Unwinding as profilers do it. Each method (harness/model/unwind/methods.h) is a strategy behind
 * one interface:
 *
 * - chain: what the kernel walked when it took the sample.
 * - dump: registers and stack dump, driven by the mappings that the capture knows: call frame
 *   information for ELF; in code without a file the emitter's own where it gave any, else the
 *   frame-pointer rule; a stop where no mapping is known.
 * - dump_fp: the kernel's rule over registers and stack dump; asks for no mapping.
 * - dump_cfi: call frame information alone: a stop in code that comes without.
 */
enum jp_unwind_stop {
	JP_UNWIND_ROOT,      /* the outermost frame, by its own mark */
	JP_UNWIND_UNMAPPED,  /* an address in no known mapping */
	JP_UNWIND_NO_ELF,    /* a file mapping without a readable ELF file */
	JP_UNWIND_NO_CFI,    /* an address that no call frame information covers */
	JP_UNWIND_BAD_FRAME, /* the frame pointer leads nowhere: not above sp, unaligned, far away
			      */
	JP_UNWIND_BAD_CFI,  /* call frame information leads nowhere: downwards, far away, or to what
			     * no call returns to */
	JP_UNWIND_DUMP_END, /* the dump ends before the stack does */
	JP_UNWIND_DUMP_SHORT, /* the kernel could not read as much as it had room for: there the
			       * stack ends, or a page of it was never touched; more was needed */
	JP_UNWIND_MAX_STACK,  /* chain: as many addresses as the kernel stores of one sample */
	JP_UNWIND_KERNEL,     /* chain: the kernel ended it, and does not say why */
	JP_UNWIND_NOT_CAME,   /* chain: deferred, and never written */
	JP_UNWIND_MAX,        /* the caller's buffer is full */
	JP_UNWIND_NO_DATA,    /* the sample has no registers or no stack */
	JP_UNWIND_STOPS
};
const char *jp_unwind_stop_text(enum jp_unwind_stop stop);

/* What a method finds in one sample. */
struct jp_unwound {
	const uint64_t *frames; /* innermost first; frames[0] = the sampled user ip */
	uint32_t count;
	bool cut; /* the capture itself shows that there is more: a full chain, a full dump */
	enum jp_unwind_stop stop;
	/* Of UNMAPPED, NO_ELF, NO_CFI: the address that was looked up, which for a return address
	 * is one less than in @frames. Of BAD_CFI: where it led, not in @frames; 0: nowhere. */
	uint64_t where;
};

struct jp_file_finder;
struct jp_jit_cfi;
struct jp_unwinder;
/* @elf_dir: the run directory's elf/ (NULL: none). @finder: finds what is not there, and outlives
 * the unwinder (NULL: nothing else is read). */
struct jp_unwinder *jp_unwinder_new(const char *elf_dir, struct jp_file_finder *finder);
void jp_unwinder_free(struct jp_unwinder *unwinder);
/* Also follow frame pointers where a file has no call frame information or cannot be read, as perf
 * does (frames may be wrong: the frame pointer is any register there); off at first. */
void jp_unwinder_frame_pointers(struct jp_unwinder *unwinder, bool follow);
/* Unwind information of emitted code; must outlive the last walk. */
void jp_unwinder_jit(struct jp_unwinder *unwinder, struct jp_jit_cfi *jit);
/* The most addresses that the capture's kernel stores of one sample; 127 at first. */
void jp_unwinder_max_stack(struct jp_unwinder *unwinder, uint64_t addresses);

/* Whether @replay has a file at @addr of @pid that cannot be opened, or has no call frame
 * information. */
bool jp_unwinder_lacks_file(struct jp_unwinder *unwinder, struct jp_replay *replay, uint32_t pid,
			    uint64_t addr);

/* The files for want of which walks ended, one after @after (NULL: the first); NULL: no more. */
struct jp_elf_entry;
const struct jp_elf_entry *jp_unwinder_missing(struct jp_unwinder *unwinder,
					       const struct jp_elf_entry *after);

/*
 * Walks @sample by @method. @capacity holds @size frames; out->frames points there, or into the
 * sample. A replay's mappings point into the unwinder: use one for each replay, and free it after
 * the last walk.
 */
void jp_unwind(struct jp_unwinder *unwinder, struct jp_replay *replay,
	       const struct jp_event *sample, enum jp_method method, uint64_t *capacity,
	       uint32_t size, struct jp_unwound *out);
/*
 * Why the kernel's walk of @sample ended where @chain does, as far as its rule over registers and
 * dump shows: BAD_FRAME, or ROOT where the frame pointer was zero; else chain->stop.
 */
enum jp_unwind_stop jp_unwind_chain_stop(struct jp_unwinder *unwinder,
					 const struct jp_event *sample,
					 const struct jp_unwound *chain);
