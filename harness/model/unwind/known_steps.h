/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/unwind/cfi_rows.h"

/* The rules at addresses of files that walks came by, while the address space stays as it is: most
 * frames are those of the sample before. */
struct jp_known_step {
	uint64_t addr, space; /* jp_replay_generation(); 0: free */
	const struct jp_cfi_rows *rows;
	struct jp_cfi_row row;
};

enum { JP_KNOWN_STEPS_BITS = 12 };
struct jp_known_steps {
	const void *replay; /* whose generations they are */
	struct jp_known_step list[1 << JP_KNOWN_STEPS_BITS];
};

/* Where that of @addr is kept, or what has taken its place. */
static inline struct jp_known_step *jp_known_step_at(struct jp_known_steps *steps, uint64_t addr)
{
	return &steps->list[addr * UINT64_C(0x9e3779b97f4a7c15) >> (64 - JP_KNOWN_STEPS_BITS)];
}
