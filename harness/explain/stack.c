// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/stack.h"

#include <stdlib.h>

enum { FRAMES = 1024 };

struct jp_stacks {
	struct jp_unwinder *unwinder;
	uint64_t ip; /* the stack of a sample that has none */
	uint64_t frames[FRAMES], others[FRAMES];
};

struct jp_stacks *jp_stacks_new(const char *elf_dir, struct jp_file_finder *finder)
{
	struct jp_stacks *stacks = calloc(1, sizeof(*stacks));

	if (stacks && !(stacks->unwinder = jp_unwinder_new(elf_dir, finder))) {
		free(stacks);
		stacks = NULL;
	}
	return stacks;
}

void jp_stacks_free(struct jp_stacks *stacks)
{
	if (!stacks)
		return;
	jp_unwinder_free(stacks->unwinder);
	free(stacks);
}

void jp_stacks_of(struct jp_stacks *stacks, struct jp_replay *spaces, const struct jp_event *sample,
		  struct jp_stack *stack)
{
	const struct jp_event_asked *asked = sample->asked;
	const bool dumped = sample->sample.regs && asked && asked->stack;
	struct jp_unwound unwound = {.stop = JP_UNWIND_NO_DATA};

	*stack = (struct jp_stack){.method = dumped ? JP_DUMP_CFI : JP_CHAIN};
	if (asked && asked->max_stack)
		jp_unwinder_max_stack(stacks->unwinder, asked->max_stack);
	if (dumped || (asked && asked->user_chain))
		jp_unwind(stacks->unwinder, spaces, sample, stack->method, stacks->frames, FRAMES,
			  &unwound);
	stack->frames = unwound.frames;
	stack->count = unwound.count;
	stack->stop = unwound.stop;
	stack->where = unwound.where;
	stack->other_stop = JP_UNWIND_NO_DATA;
	if (stack->stop == JP_UNWIND_NO_CFI) {
		jp_unwind(stacks->unwinder, spaces, sample, JP_DUMP, stacks->others, FRAMES,
			  &unwound);
		stack->other_stop = unwound.stop;
	}
	if (!stack->count && sample->sample.user) {
		stacks->ip = sample->sample.ip;
		stack->frames = &stacks->ip;
		stack->count = 1;
		stack->stop = JP_UNWIND_NO_DATA;
	}
}
