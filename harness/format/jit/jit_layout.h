/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/base/bytes.h"

/* A function at an address of a process, where a LOAD or MOVE placed it. Pointers lead into the
 * jitdump. */
struct jp_jit_function {
	const char *name;
	const unsigned char *code;
	uint64_t addr, size;
	const unsigned char *lines; /* entries of the function's DEBUG_INFO record, or NULL */
	uint64_t nr_lines, lines_size;
	uint64_t lines_base; /* the value of @addr for which the addresses in @lines are valid */
	const unsigned char *eh_frame; /* unwinding table; its addresses are relative to the next
					  multiple of 8 after the code */
	uint64_t eh_frame_size;        /* 0: none */
	/* Number of bytes of unwinding tables that follow the code in the process's memory; 0: the
	 * tables are only in the jitdump. */
	uint64_t tables;
	/* Results of jp_jit_layout(): number of the ELF file, and offset in it. */
	uint32_t file;
	uint64_t offset;
};

/*
 * Assigns a file and an offset to each function. Returns the number of files, or -ENOMEM.
 *
 * All functions of a file have the same distance from address to offset, because libdw takes a file
 * for a module with one mapping, and finds nothing where modules overlap. So each generation of
 * code at an address, and each region of the address space, has its own file. If there are too many
 * files, the rest is packed into one file, in which only names are found. libunwind (perf up to
 * 6.12) reads tables through mapping records, so a function whose process has tables after its code
 * gets its own file, whose mapping covers them.
 */
int jp_jit_layout(struct jp_jit_function *functions, size_t count);

/* Merges the call frame information of many functions into one .eh_frame and .eh_frame_hdr. Copies
 * records of the kind that runtimes write ("zR", pc-relative in 32 bits) if they pass
 * jp_cfi_check(); @bad counts functions without usable records. */
struct jp_jit_frames {
	struct jp_bytes frame, index;
	struct jp_jit_fde *fdes;
	size_t count, capacity;
	uint64_t nr_bad;
};

/* Adds the call frame records of @function. @addr: address of the new .eh_frame. */
void jp_jit_frames_add(struct jp_jit_frames *frames, const struct jp_jit_function *function,
		       uint64_t addr);
/* Completes .eh_frame, at @addr, and builds .eh_frame_hdr, to be placed at @index_addr. */
void jp_jit_frames_end(struct jp_jit_frames *frames, uint64_t addr, uint64_t index_addr);
void jp_jit_frames_free(struct jp_jit_frames *frames);
