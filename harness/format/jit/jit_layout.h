/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* One function at one place in a process: what a LOAD, or a MOVE of it, put there. Pointers lead
 * into the jitdump. */
struct jp_jit_function {
	const char *name;
	const unsigned char *code;
	uint64_t addr, size;
	const unsigned char *lines; /* entries of its DEBUG_INFO; NULL: none */
	uint64_t nr_lines, lines_size;
	uint64_t lines_base;           /* what is @addr for their addresses */
	const unsigned char *eh_frame; /* as if it lay behind the code, at a multiple of 8 */
	uint64_t eh_frame_size;        /* 0: none */
	uint64_t
		tables; /* bytes behind the code where the process itself has them; 0: it has not */
	/* jp_jit_layout() decides: which file, and where in it. */
	uint32_t file;
	uint64_t offset;
};

/*
 * Gives each function its file and offset; returns the number of files, or -ENOMEM.
 *
 * Functions lie in a file as they lay in the process, with one difference between address and
 * offset for all of them: libdw, as perf uses it, takes a file to be mapped once (a module), and
 * finds nothing where two modules overlap. So code that took the address of other code is in
 * another file: a generation each, and each region of the address space has its own. Where there
 * would be too many files, the rest is packed into one: found by name all the same.
 *
 * libunwind, as perf up to 6.12 uses it, reads tables through the mapping records: a function whose
 * process has them behind the code gets a file of its own, whose mapping covers them too.
 */
int jp_jit_layout(struct jp_jit_function *functions, size_t count);
