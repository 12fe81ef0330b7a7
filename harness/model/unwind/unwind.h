/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/model/unwind/elf_store.h"
#include "harness/model/unwind/methods.h"
#include "harness/model/space/replay.h"

/*
 * Unwinds the stack of a sample by a method (harness/model/unwind/methods.h), as profilers do:
 * - chain: the callchain that the kernel recorded with the sample.
 * - dump: registers and stack dump, by the call frame information of ELF files; for code without a
 *   file by that of the JIT, or else by frame pointers. Stops at unmapped addresses.
 * - dump_fp: the kernel's frame-pointer rule over registers and stack dump; ignores mappings.
 * - dump_cfi: call frame information only; stops in code without it.
 */
enum jp_unwind_stop {
	JP_UNWIND_ROOT,      /* the outermost frame, as marked by the ABI */
	JP_UNWIND_UNMAPPED,  /* an address in no known mapping */
	JP_UNWIND_NO_ELF,    /* a file mapping without a readable ELF file */
	JP_UNWIND_NO_CFI,    /* an address that no call frame information covers */
	JP_UNWIND_BAD_FRAME, /* invalid frame pointer: not above sp, unaligned, or too far away */
	JP_UNWIND_BAD_CFI,  /* wrong call frame information: it leads downwards, too far away, or to
			       an address that no call returns to */
	JP_UNWIND_DUMP_END, /* the walk needs memory above the dump, which has the requested size */
	JP_UNWIND_DUMP_SHORT, /* the walk needs memory above the dump, which is smaller than
				 requested because the stack ended or a page was never touched */
	JP_UNWIND_MAX_STACK, /* chain: it contains as many addresses as the kernel stores at most */
	JP_UNWIND_KERNEL,    /* chain: the kernel stopped for an unknown reason */
	JP_UNWIND_NOT_CAME,  /* chain: the deferred user part was never recorded */
	JP_UNWIND_MAX,       /* the caller's buffer is full */
	JP_UNWIND_NO_DATA,   /* the sample has no registers or no stack */
	JP_UNWIND_STOPS
};
const char *jp_unwind_stop_text(enum jp_unwind_stop stop);

/* The stack that a method finds for one sample. */
struct jp_unwound {
	const uint64_t *frames; /* innermost first; frames[0] = the sampled user ip */
	uint32_t count;
	bool is_incomplete; /* the capture shows that frames are missing: a full chain or dump */
	enum jp_unwind_stop stop;
	/* Address that belongs to @stop. For UNMAPPED, NO_ELF, NO_CFI: the address that was looked
	 * up, which is one less than a return address in @frames. For BAD_CFI: the target of the
	 * step, which is not in @frames. 0: none. */
	uint64_t stop_addr;
};

struct jp_file_finder;
struct jp_jit_cfi;
struct jp_unwinder;
/* Creates an unwinder. @elf_dir: the run directory's elf/ (NULL: none). @finder: finds files that
 * are not there, and must live longer than the unwinder (NULL: no other file is read). Returns NULL
 * if there is no memory. */
struct jp_unwinder *jp_unwinder_new(const char *elf_dir, struct jp_file_finder *finder);
void jp_unwinder_free(struct jp_unwinder *unwinder);
/* Makes walks follow frame pointers in files without readable call frame information, as perf does,
 * if @follow; off by default. Frames may be wrong: such code may use the frame pointer as a general
 * register. */
void jp_unwinder_frame_pointers(struct jp_unwinder *unwinder, bool follow);
/* Sets the function that decides which kept files may be those of mappings (elf_store.h). */
void jp_unwinder_filter_files(struct jp_unwinder *unwinder, jp_elf_may_be *may_be, void *context);
/* Sets the unwind information of emitted code, which must outlive the last walk. */
void jp_unwinder_jit(struct jp_unwinder *unwinder, struct jp_jit_cfi *jit);
/* Sets the number of addresses that the capture's kernel stores at most per sample; default 127. */
void jp_unwinder_max_stack(struct jp_unwinder *unwinder, uint64_t addresses);

/* Returns whether @replay has a file at @addr of @pid without readable call frame information for
 * it. */
bool jp_unwinder_lacks_file(struct jp_unwinder *unwinder, struct jp_replay *replay, uint32_t pid,
			    uint64_t addr);
/* Returns whether @addr of @pid is in shared memory for which no file with call frame information
 * is known: walks take its code for a JIT's. */
bool jp_unwinder_takes_for_emitted(struct jp_unwinder *unwinder, struct jp_replay *replay,
				   uint32_t pid, uint64_t addr);

/* Returns the next file, after @after (NULL: the first one), that walks needed and that is missing,
 * or NULL after the last. */
struct jp_elf_entry;
const struct jp_elf_entry *jp_unwinder_list_missing(struct jp_unwinder *unwinder,
						    const struct jp_elf_entry *after);

/* Walks the stack of @sample by @method. @capacity has room for @size addresses; out->frames points
 * there, or into the sample. Mappings of a replay point into the unwinder: use one unwinder per
 * replay, and free the unwinder after the last walk. */
void jp_unwind(struct jp_unwinder *unwinder, struct jp_replay *replay,
	       const struct jp_event *sample, enum jp_method method, uint64_t *capacity,
	       uint32_t size, struct jp_unwound *out);
/* Returns why the kernel's walk @chain of @sample ended. If the same frame-pointer rule over
 * registers and dump explains the end, this is BAD_FRAME, or ROOT if the frame pointer was zero;
 * else chain->stop. */
enum jp_unwind_stop jp_unwind_chain_stop(struct jp_unwinder *unwinder,
					 const struct jp_event *sample,
					 const struct jp_unwound *chain);
