// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/path_position.h"

/* State of a walk from the outermost function inwards: the calling function, and its frame
 * pointer. */
struct words_walk {
	const struct jp_machine_frames *frames;
	jp_truth_word report;
	void *context;
	uint64_t caller, fp;
	bool is_known; /* @fp is valid */
};

/* Reports the frame of the function with S @entry, at @insn. */
static void report_frame(struct words_walk *walk, const struct jp_truth_insn *insn, uint64_t entry)
{
	const uint64_t record_addr =
		entry + walk->frames->pushed - 2 * jp_machine_word(walk->frames);
	const uint8_t bp = insn->bp & ~JP_INSN_FLAGS;

	/* If calls push nothing, only a function with a frame stores its return address. */
	if (walk->frames->pushed || bp != JP_BP_CALLER)
		walk->report(walk->context, entry + walk->frames->return_at, walk->caller,
			     insn->bp & JP_INSN_SIGNED ? walk->frames->signature : 0);
	if (bp == JP_BP_CALLER)
		return;
	if (walk->is_known)
		walk->report(walk->context, record_addr, walk->fp, 0);
	walk->is_known = bp == JP_BP_OWN;
	walk->fp = record_addr + walk->frames->fp_above;
}

bool jp_truth_visit_stack_words(const struct jp_truth_stack *stack, jp_truth_word report,
				void *context, uint64_t *fp)
{
	const struct jp_truth_activation *activation = stack->activation;
	const struct jp_truth_code *const *functions = activation->path->functions;
	uint64_t entry = activation->sp;
	struct words_walk walk = {.frames = stack->machine->frames,
				  .report = report,
				  .context = context,
				  .caller = activation->root[JP_DUMP]->frames[0],
				  .fp = activation->bp,
				  .is_known = true};

	for (uint32_t d = 0; d < stack->depth; d++) {
		const struct jp_truth_insn *insn = jp_truth_return_insn(functions[d]);

		/* A function that jumped to the next one (tail call) has no frame. */
		if (!jp_truth_is_tail_call(functions[d])) {
			report_frame(&walk, insn, entry);
			walk.caller = functions[d]->addr + insn->offset;
		}
		entry = jp_truth_next_entry(stack->machine, functions[d], entry);
	}
	report_frame(&walk, jp_truth_insn_at(functions[stack->depth]->layout, stack->offset),
		     entry);
	*fp = walk.fp;
	return walk.is_known;
}
