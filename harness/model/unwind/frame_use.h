/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct jp_cfi;
struct jp_elf_store;
struct jp_mapping;

/* What a function of a file does with the frame pointer, by its call frame information. */
enum jp_frame_use {
	JP_FRAME_UNKNOWN, /* no file, or nothing in it covers the address */
	JP_FRAME_LINKED,  /* it leads to the function's frame, or will in an instruction or two */
	JP_FRAME_KEPT,    /* it is the caller's: this function has no frame */
	JP_FRAME_USED,    /* it was saved, and is any register there */
	JP_FRAME_ROOT,    /* the outermost frame */
};

/* From a function's entry to its frame, and from the frame's end to the return: more bytes than
 * endbr64, push and mov take. */
enum { JP_FRAME_NEAR = 8 };

/* At @vaddr alone. jp_frame_use() looks around it, too: a function may be about to link its frame,
 * or have just given it up. */
enum jp_frame_use jp_frame_use_at(struct jp_cfi *cfi, uint64_t vaddr);
enum jp_frame_use jp_frame_use(struct jp_elf_store *store, const struct jp_mapping *mapping,
			       uint64_t addr);
/* Whether the file was built to keep the frame pointer: its functions do, but for those that call
 * none. */
bool jp_frame_kept(struct jp_elf_store *store, const struct jp_mapping *mapping);
