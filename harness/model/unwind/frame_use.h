/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct jp_cfi;
struct jp_elf_store;
struct jp_mapping;

/* How a function of a file uses the frame pointer, by its call frame information. */
enum jp_frame_use {
	JP_FRAME_UNKNOWN, /* no file, or no call frame information at the address */
	JP_FRAME_LINKED,  /* the frame pointer points to the function's frame, or will within an
			     instruction or two */
	JP_FRAME_KEPT,    /* the frame pointer has the caller's value: the function has no frame */
	JP_FRAME_USED,    /* the frame pointer was saved and serves as a general register */
	JP_FRAME_ROOT,    /* the function has the outermost frame */
};

/* Largest distance in bytes from a function's entry to its frame, and from the frame's end to the
 * return: more than endbr64, push and mov take. */
enum { JP_FRAME_NEAR = 8 };

/* Returns the use of the frame pointer at @vaddr only. jp_frame_use() also checks nearby addresses,
 * where the function may be about to link its frame or may just have dropped it. */
enum jp_frame_use jp_frame_use_at(struct jp_cfi *cfi, uint64_t vaddr);
enum jp_frame_use jp_frame_use(struct jp_elf_store *store, const struct jp_mapping *mapping,
			       uint64_t addr);
/* Returns whether the function has no frame at @addr: the frame pointer is its caller's. */
bool jp_frame_is_absent(struct jp_elf_store *store, const struct jp_mapping *mapping,
			uint64_t addr);
/* Returns whether the file was built with frame pointers, at least in functions with calls. */
bool jp_frame_kept(struct jp_elf_store *store, const struct jp_mapping *mapping);
