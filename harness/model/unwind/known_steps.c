// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/unwind/known_steps.h"

/* Whether @step is that of @addr in @space, which is not 0, and its rules need the CFA alone. */
static inline bool is_direct(const struct jp_known_step *step, uint64_t addr, uint64_t space)
{
	return step->addr == addr && step->space == space && step->row.direct;
}

/* The guess for @sp, made right for @addr; NULL: no step is known. */
static struct jp_step_guess *find(struct jp_known_steps *steps, uint64_t space, uint64_t addr,
				  uint64_t sp)
{
	struct jp_step_guess *guess = &steps->guesses[sp / 8 % JP_KNOWN_STEPS];
	const struct jp_known_step *step = jp_known_step_at(steps, addr);

	if (is_direct(&steps->list[guess->step], addr, space))
		return guess;
	if (!is_direct(step, addr, space))
		return NULL;
	guess->step = (uint16_t)(step - steps->list);
	return guess;
}

static inline uint64_t load(const unsigned char *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

uint32_t jp_known_steps_walk(struct jp_known_steps *steps, uint64_t space, struct jp_regs *regs,
			     bool called, const struct jp_stack_dump *dump, uint64_t *frames,
			     uint32_t size)
{
	const unsigned sp_at = regs->machine->sp, ip_at = regs->machine->ip;
	const unsigned pushed = regs->machine->frames->pushed;
	const unsigned char *const bytes = dump->bytes;
	const uint64_t base = dump->sp, last = dump->size - sizeof(uint64_t);
	uint64_t sp = regs->r[sp_at], addr = regs->r[ip_at] - called, known = regs->known;
	uint64_t rise = called || pushed ? pushed : 1;
	struct jp_step_guess first = {0}, *guess = &first;
	uint32_t count = 0;

	if (!space || dump->size < sizeof(uint64_t))
		return 0;
	while (count < size) {
		struct jp_step_guess *before = guess;
		const struct jp_known_step *step;
		const struct jp_cfi_rule *rule, *end;
		uint64_t cfa = sp, caller, low;

		guess = &steps->guesses[before->caller];
		if (!is_direct(&steps->list[guess->step], addr, space)) {
			guess = find(steps, space, addr, sp);
			if (!guess)
				break;
			before->caller = (uint16_t)(guess - steps->guesses);
		}
		step = &steps->list[guess->step];
		if (step->row.cfa.reg != sp_at) {
			if (!(known & UINT64_C(1) << step->row.cfa.reg))
				break;
			cfa = regs->r[step->row.cfa.reg];
		}
		cfa += (int64_t)step->row.cfa.offset;
		low = cfa - base + (int64_t)step->row.low;
		if (cfa < sp + rise || low > last || low + step->row.span > last)
			break;
		rule = &step->rows->rules[step->row.first];
		end = rule + step->row.count;
		caller = load(bytes + (cfa - base + (int64_t)rule->offset));
		if (!caller)
			break;
		while (++rule < end)
			regs->r[rule->target] = load(bytes + (cfa - base + (int64_t)rule->offset));
		known = (known & step->row.kept) | step->row.given;
		frames[count++] = caller;
		addr = caller - 1;
		sp = cfa;
		rise = pushed;
	}
	if (count) {
		regs->r[sp_at] = sp;
		regs->r[ip_at] = addr + 1;
		regs->known = known;
	}
	return count;
}
