// SPDX-License-Identifier: GPL-2.0-only
#include "harness/trace/burst.h"

#include "harness/base/clock.h"
#include "harness/trace/memory.h"
#include "harness/trace/registers.h"

enum { CODE_SIZE = 16 }; /* no instruction is longer than 15 bytes */

/* State of a thread before it executes an instruction. */
struct moment {
	struct jp_regs regs;
	struct jp_shadow_state state;
	unsigned char code[CODE_SIZE];
	uint64_t time;
};

static bool read_current_state(const struct jp_burst *burst, struct moment *moment)
{
	const struct jp_machine *machine;

	if (!jp_registers_read(burst->tid, &moment->regs))
		return false;
	machine = moment->regs.machine;
	moment->time = jp_clock_now();
	moment->state = (struct jp_shadow_state){
		.ip = moment->regs.r[machine->ip],
		.sp = moment->regs.r[machine->sp],
		.fp = moment->regs.r[machine->frames->fp],
		.code = moment->code,
	};
	jp_memory_read(burst->tid, moment->state.sp, &moment->state.top, sizeof(moment->state.top));
	moment->state.size = jp_memory_read(burst->tid, moment->state.ip, moment->code, CODE_SIZE);
	burst->shadow->machine = machine->frames;
	return moment->state.size;
}

/* Marks the innermost frame of the shadow stack as uncertain if the program overwrote its return
 * address. */
static void check_return_address(const struct jp_burst *burst)
{
	const struct jp_shadow_frame *top = jp_shadow_get_innermost(burst->shadow);
	uint64_t word;

	if (top && (!jp_memory_load((void *)&burst->tid, top->ret_addr, &word) || word != top->ret))
		jp_shadow_mark_uncertain(burst->shadow, JP_SHADOW_CHANGED);
}

/* Counts a tail call, or marks the innermost frame as uncertain, if the instruction jumped from one
 * emitted function into another. */
static void check_jump(const struct jp_burst *burst, const struct moment *before,
		       const struct moment *after)
{
	const struct jp_published_files *published = burst->checks->published;
	const struct jp_shadow_frame *top = jp_shadow_get_innermost(burst->shadow);
	size_t from_function, to_function;

	if (!top ||
	    (after->state.ip > before->state.ip &&
	     after->state.ip - before->state.ip < CODE_SIZE) ||
	    !jp_published_is_emitted(published, before->state.ip) ||
	    !jp_published_is_emitted(published, after->state.ip))
		return;
	from_function = jp_checks_function(burst->checks, before->state.ip);
	to_function = jp_checks_function(burst->checks, after->state.ip);
	if (!from_function || !to_function || from_function == to_function)
		return;
	if (after->state.sp == top->ret_addr)
		burst->shadow->events[JP_SHADOW_TAIL]++;
	else
		jp_shadow_mark_uncertain(burst->shadow, JP_SHADOW_REPLACED);
}

static enum jp_trace_place find_place(const struct jp_shadow *shadow,
				      const struct jp_trace_insn *insn, const struct moment *moment,
				      bool is_return)
{
	if (is_return)
		return JP_PLACE_CALL;
	if (shadow->machine->returns(moment->code, moment->state.size))
		return JP_PLACE_EXIT;
	return insn->ip == insn->start && insn->sp == insn->ret_addr ? JP_PLACE_ENTRY
								     : JP_PLACE_BODY;
}

/* Applies the instruction between the states @before and @after to the shadow stack, and checks
 * what the process publishes about it. */
static void apply_instruction(struct jp_burst *burst, const struct moment *before,
			      const struct moment *after, bool is_sample)
{
	struct jp_shadow *shadow = burst->shadow;
	const struct jp_shadow_frame *top = jp_shadow_get_innermost(shadow);
	const uint64_t calls = shadow->calls, returns = shadow->returns;
	struct jp_trace_insn insn = {
		.pid = burst->checks->current->pid,
		.tid = (uint32_t)burst->tid,
		.burst = burst->number,
		.time = before->time,
		.is_forked = jp_threads_find(burst->threads, burst->tid)->is_forked,
		.ip = before->state.ip,
		.sp = before->state.sp,
		.fp = before->state.fp,
		.is_known = top,
		.ret_addr = top ? top->ret_addr : 0,
		.ret = top ? top->ret : 0,
		.start = top ? top->start : 0,
	};
	struct jp_checks_step step = {
		.regs = &before->regs,
		.first_byte = before->code[0],
		.found_at = before->state.ip,
		.fp = top ? top->fp : 0,
		.sample = is_sample,
	};

	burst->checks->tally->uncertain +=
		!top && shadow->count && jp_published_is_emitted(burst->checks->published, insn.ip);
	jp_shadow_step(shadow, &before->state, &after->state);
	insn.place = find_place(shadow, &insn, before, shadow->calls > calls);
	if (insn.place == JP_PLACE_CALL)
		step.found_at = after->state.top - 1;
	jp_checks_apply(burst->checks, &insn, &step);
	if (insn.is_known || insn.emitted)
		burst->visit(burst->context, &insn);
	if (shadow->calls == calls && shadow->returns == returns)
		check_jump(burst, before, after);
}

void jp_burst_run(struct jp_burst *burst)
{
	struct moment moments[2], *before = &moments[0], *after = &moments[1], *swapped;
	bool is_sample = true;

	if (!read_current_state(burst, before))
		return;
	for (uint32_t i = 0; i < burst->steps; i++) {
		enum jp_stepped stepped;

		if (jp_registers_ends_burst(&before->regs, before->code, before->state.size))
			return;
		check_return_address(burst);
		stepped = jp_threads_step(burst->threads, burst->tid);
		if (stepped == JP_STEPPED_GONE || !read_current_state(burst, after))
			return;
		if (stepped == JP_STEPPED_HANDLER) {
			jp_shadow_signal(burst->shadow, &before->state, &after->state);
		} else if (stepped == JP_STEPPED) {
			burst->checks->tally->steps++;
			apply_instruction(burst, before, after, is_sample);
			is_sample = false;
		} else if (jp_threads_find(burst->threads, burst->tid)->group_stop) {
			return;
		}
		swapped = before;
		before = after;
		after = swapped;
	}
}
