/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

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
