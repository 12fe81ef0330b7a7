/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/format/jit/jitdump_folder.h"

/* Code that a LOAD or MOVE record of a jitdump (jit-*.dump) placed at an address. */
struct jp_code_load {
	uint32_t pid, owner; /* @pid: pid in the record; @owner: pid in the header of the jitdump */
	uint64_t time, addr, size;
	size_t order;     /* number of the record among the LOADs and MOVEs of all files */
	const char *name; /* name; for a MOVE the name in the last LOAD with the same code index, or
			     "" */
	/* For a MOVE, the next members are also taken from that LOAD. */
	const unsigned char *code; /* @size bytes of code; NULL: not in the jitdump */
	/* .eh_frame from the UNWINDING_INFO record, with addresses relative to the next multiple of
	 * 8 after the code; NULL: none. */
	const unsigned char *eh_frame;
	uint64_t eh_frame_size;
	uint64_t mapped_size; /* number of bytes of tables, .eh_frame and .eh_frame_hdr, that the
			    process has in memory behind the code */
};

struct jp_code_loads {
	struct jp_code_load *loads; /* sorted by pid, addr, time */
	size_t count;
	struct jp_jitdump_folder folder; /* owns the code and tables of @loads */
};

/* Reads all jitdumps in folder @dir, each up to its first invalid record. Returns 0, or -errno and
 * a message; then @loads is empty. */
int jp_code_loads_read(const char *dir, struct jp_code_loads *loads, struct jp_error *err);
/* Does the same as jp_code_loads_read() with the files @paths, which must belong to user @owner
 * (-1: any user). */
int jp_code_loads_read_files(char *const *paths, size_t count, int64_t owner,
			     struct jp_code_loads *loads, struct jp_error *err);
void jp_code_loads_free(struct jp_code_loads *loads);
