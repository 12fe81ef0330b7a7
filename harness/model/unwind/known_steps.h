/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/unwind/cfi_rows.h"
#include "harness/model/unwind/stack_dump.h"

/* Caches the unwind rules at the addresses of recent walks as long as the address space does not
 * change: most frames of a sample are those of the previous sample. */
struct jp_known_step {
	uint64_t addr, space; /* @space: jp_replay_generation(); 0: free entry */
	const struct jp_cfi_rows *rows;
	struct jp_cfi_row row;
};

enum { JP_KNOWN_STEPS_BITS = 12, JP_KNOWN_STEPS = 1 << JP_KNOWN_STEPS_BITS };
/* The step that the last walk made at a stack pointer: a guess that lets the processor continue
 * before it has loaded the return address from the dump. */
struct jp_step_guess {
	uint16_t step;   /* index in jp_known_steps.list */
	uint16_t caller; /* index of the caller's guess in jp_known_steps.guesses */
};

struct jp_known_steps {
	const void *replay; /* replay to which the generations belong */
	struct jp_known_step list[JP_KNOWN_STEPS];
	struct jp_step_guess guesses[JP_KNOWN_STEPS]; /* guesses, by a hash of the stack pointer */
};

/* Returns the slot of @addr, which may hold the step of another address. */
static inline struct jp_known_step *jp_known_step_at(struct jp_known_steps *steps, uint64_t addr)
{
	return &steps->list[addr * UINT64_C(0x9e3779b97f4a7c15) >> (64 - JP_KNOWN_STEPS_BITS)];
}

/* Returns whether @step is the cached step of @addr in address space @space. */
static inline bool jp_known_step_matches(const struct jp_known_step *step, uint64_t addr,
					 uint64_t space)
{
	return step->addr == addr && step->space == space && space;
}

/* Makes up to @size known steps from @regs. A known step has rules that need only the CFA, has its
 * frame in the dump @from, and leads upwards to a nonzero address. Stores the return addresses in
 * @frames and the last caller's registers in @regs. @is_return: the ip of @regs is a return
 * address. Returns the number of steps; the caller finds out why the walk ends. */
uint32_t jp_known_steps_walk(struct jp_known_steps *steps, uint64_t space, struct jp_regs *regs,
			     bool is_return, const struct jp_stack_dump *from, uint64_t *frames,
			     uint32_t size);
