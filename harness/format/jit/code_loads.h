/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/format/jit/jitdump_folder.h"

/* A LOAD or MOVE of a jitdump (jit-*.dump) in a run directory. */
struct jp_code_load {
	uint32_t pid, owner; /* pid in the record; pid in the header of its dump */
	uint64_t time, addr, size;
	size_t order;     /* number of the record among all */
	const char *name; /* MOVE: that of the last LOAD with its index, or "" */
	/* The next members of a MOVE are also those of that LOAD. */
	const unsigned char *code; /* @size bytes; NULL: not in the dump */
	/* From UNWINDING_INFO, relative to the next multiple of 8 after the code; NULL: none. */
	const unsigned char *eh_frame;
	uint64_t eh_frame_size;
	uint64_t tables; /* bytes of its UNWINDING_INFO, with .eh_frame_hdr */
};

struct jp_code_loads {
	struct jp_code_load *loads; /* sorted by pid, addr, time */
	size_t count;
	struct jp_jitdump_folder folder; /* owns the code and tables */
};

/* Reads all jitdumps of @dir, each up to its first bad record. Returns 0, or -errno and a message;
 * then @loads is empty. */
int jp_code_loads_read(const char *dir, struct jp_code_loads *loads, struct jp_error *err);
/* Does the same with the files @paths of @owner (-1: any user). */
int jp_code_loads_read_files(char *const *paths, size_t count, int64_t owner,
			     struct jp_code_loads *loads, struct jp_error *err);
void jp_code_loads_free(struct jp_code_loads *loads);
