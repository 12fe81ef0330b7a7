/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/format/jit/jitdump_folder.h"

/* The loads and moves of all jitdumps (jit-*.dump) of a run directory. */
struct jp_code_load {
	uint32_t pid, owner; /* whose it is; whose dump it stands in */
	uint64_t time, addr, size;
	const char *name; /* of a MOVE: that of the LOAD with its index before it, or "" */
	/* Of a MOVE: that LOAD's too. */
	const unsigned char *code;     /* @size bytes; NULL: the dump does not hold them */
	const unsigned char *eh_frame; /* its UNWINDING_INFO, as if it lay behind the code, at a
					* multiple of 8; NULL: none */
	uint64_t eh_frame_size;
	uint64_t tables; /* bytes of its UNWINDING_INFO, the index among them */
};

struct jp_code_loads {
	struct jp_code_load *loads; /* by pid, addr, time */
	size_t count;
	struct jp_jitdump_folder folder; /* which code and tables lie in */
};

/* Keeps what precedes a bad record. 0, or -errno and a message where nothing was read. */
int jp_code_loads_read(const char *dir, struct jp_code_loads *loads, struct jp_error *err);
void jp_code_loads_free(struct jp_code_loads *loads);
