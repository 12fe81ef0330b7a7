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

struct jp_elf_store;
struct jp_file_finder;
struct jp_mapping;

/* A cache of facts about the calls in the code of files. */
struct jp_call_sites;
/* Creates an empty cache. The caller keeps @store and @finder until jp_call_sites_free(). Returns
 * NULL if there is no memory. */
struct jp_call_sites *jp_call_sites_new(struct jp_elf_store *store, struct jp_file_finder *finder);
void jp_call_sites_free(struct jp_call_sites *sites);
/* Returns the address of a function in @mapping's file that has a frame in each complete callchain
 * with return address @addr, or 0. There is such a function if the instruction before @addr calls
 * it directly, and it keeps its frame until it returns and never leaves by a jump. */
uint64_t jp_call_sites_frame_behind(struct jp_call_sites *sites, const struct jp_mapping *mapping,
				    uint64_t addr);
/* Returns whether each complete callchain with return address @addr in @libc, the mapping of a C
 * library, must contain a frame of main(): the code at @addr passes the result to exit(). Only
 * known for x86-64. Each address is asked of one of these two functions alone. */
bool jp_call_sites_main_behind(struct jp_call_sites *sites, const struct jp_mapping *libc,
			       uint64_t addr);
