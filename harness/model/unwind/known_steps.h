/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/unwind/cfi_rows.h"
#include "harness/model/unwind/stack_dump.h"

/* The rules at addresses of files that walks came by, while the address space stays as it is: most
 * frames are those of the sample before. */
struct jp_known_step {
	uint64_t addr, space; /* jp_replay_generation(); 0: free */
	const struct jp_cfi_rows *rows;
	struct jp_cfi_row row;
};

enum { JP_KNOWN_STEPS_BITS = 12, JP_KNOWN_STEPS = 1 << JP_KNOWN_STEPS_BITS };
/* What a walk found last where the stack pointer was: a guess, so that the processor need not wait
 * for what the dump holds to know where to read on. */
struct jp_step_guess {
	uint16_t step;   /* of the list */
	uint16_t caller; /* where the caller's guess is */
};

struct jp_known_steps {
	const void *replay; /* whose generations they are */
	struct jp_known_step list[JP_KNOWN_STEPS];
	struct jp_step_guess guesses[JP_KNOWN_STEPS]; /* by the stack pointer */
};

/* Where that of @addr is kept, or what has taken its place. */
static inline struct jp_known_step *jp_known_step_at(struct jp_known_steps *steps, uint64_t addr)
{
	return &steps->list[addr * UINT64_C(0x9e3779b97f4a7c15) >> (64 - JP_KNOWN_STEPS_BITS)];
}

/* Whether @step is that of @addr. */
static inline bool jp_known_step_is(const struct jp_known_step *step, uint64_t addr, uint64_t space)
{
	return step->addr == addr && step->space == space && space;
}

/*
 * Makes at most @size known steps, from @regs on: those whose rules need the CFA alone, whose frame
 * is in the dump @from, and that lead upwards and to an address. Their addresses go into @frames,
 * the last caller's registers into @regs. @called: the ip of @regs is a return address. How many;
 * why there is no other is for the caller to find out.
 */
uint32_t jp_known_steps_walk(struct jp_known_steps *steps, uint64_t space, struct jp_regs *regs,
			     bool called, const struct jp_stack_dump *from, uint64_t *frames,
			     uint32_t size);
