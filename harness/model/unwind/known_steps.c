// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/unwind/known_steps.h"

#include "harness/base/load.h"
#include "harness/base/return_address.h"

/* Returns whether @step is the cached step of @addr in address space @space, which is not 0, and
 * needs only the CFA. */
static inline bool is_direct(const struct jp_known_step *step, uint64_t addr, uint64_t space)
{
	return step->addr == addr && step->space == space && step->row.direct;
}

static inline uint16_t index_guess(uint64_t sp)
{
	return sp / 8 % JP_KNOWN_STEPS;
}

/* Stores the cached step of @addr as the guess for stack pointer @sp. Returns false if no step of
 * @addr is cached. */
static bool find_step(struct jp_known_steps *steps, uint64_t space, uint64_t addr, uint64_t sp)
{
	struct jp_step_guess *guess = &steps->guesses[index_guess(sp)];
	const struct jp_known_step *step = jp_known_step_at(steps, addr);

	if (is_direct(&steps->list[guess->step], addr, space))
		return true;
	if (!is_direct(step, addr, space))
		return false;
	guess->step = (uint16_t)(step - steps->list);
	return true;
}

/* Returns whether @dump, which has at least one word, contains all words of the stack that @row
 * reads. */
static inline bool covers_row(const struct jp_stack_dump *dump, const struct jp_cfi_row *row,
			      uint64_t cfa)
{
	const uint64_t low = cfa - dump->sp + (int64_t)row->low;
	const uint64_t last = dump->size - sizeof(uint64_t);

	return low <= last && low + row->span <= last;
}

uint32_t jp_known_steps_walk(struct jp_known_steps *steps, uint64_t space, struct jp_regs *regs,
			     bool is_return, const struct jp_stack_dump *from, uint64_t *frames,
			     uint32_t size)
{
	const unsigned sp_at = regs->machine->sp, ip_at = regs->machine->ip;
	const unsigned pushed = regs->machine->frames->pushed;
	const uint64_t signature = regs->machine->frames->signature;
	/* A copy: the compiler must assume that @regs aliases *@from. */
	const struct jp_stack_dump dump = *from;
	uint64_t sp = regs->r[sp_at], addr = regs->r[ip_at] - is_return, known_regs = regs->mask;
	uint64_t rise = is_return || pushed ? pushed : 1;
	uint16_t index = index_guess(sp), before = index;
	uint64_t *frame = frames, *const end = frames + size;

	if (!space || dump.narrow || dump.size < sizeof(uint64_t))
		return 0;
	while (frame < end) {
		const struct jp_known_step *step = &steps->list[steps->guesses[index].step];
		const struct jp_cfi_rule *rule;
		const unsigned char *bytes;
		uint64_t cfa = sp, caller;

		if (!is_direct(step, addr, space)) {
			if (!find_step(steps, space, addr, sp))
				break;
			if (index != index_guess(sp))
				index = steps->guesses[before].caller = index_guess(sp);
			step = &steps->list[steps->guesses[index].step];
		}
		before = index;
		index = steps->guesses[index].caller;
		if (step->row.cfa.reg != sp_at) {
			if (!(known_regs & UINT64_C(1) << step->row.cfa.reg))
				break;
			cfa = regs->r[step->row.cfa.reg];
		}
		cfa += (int64_t)step->row.cfa.offset;
		if (cfa < sp + rise || !covers_row(&dump, &step->row, cfa))
			break;
		rule = &step->rows->rules[step->row.first_rule];
		bytes = dump.bytes + (cfa - dump.sp);
		caller = jp_return_address(jp_load64(bytes + rule->offset), signature);
		if (!caller)
			break;
		*frame++ = caller;
		for (unsigned remaining = step->row.count; --remaining;) {
			rule++;
			regs->r[rule->target] = jp_load64(bytes + rule->offset);
		}
		known_regs = (known_regs & step->row.preserved) | step->row.ruled;
		addr = caller - 1;
		sp = cfa;
		rise = pushed;
	}
	if (frame > frames) {
		regs->r[sp_at] = sp;
		regs->r[ip_at] = addr + 1;
		regs->mask = known_regs;
	}
	return (uint32_t)(frame - frames);
}
