// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/stack.h"

#include <stdlib.h>

enum { FRAMES = 1024 };

struct jp_stacks {
	struct jp_unwinder *unwinder;
	uint64_t ip; /* the stack of a sample that has none */
	uint64_t frames[FRAMES], others[FRAMES];
	struct jp_stack other;
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

static void walk(struct jp_stacks *stacks, struct jp_replay *spaces, const struct jp_event *sample,
		 enum jp_method method, uint64_t *frames, struct jp_stack *stack)
{
	struct jp_unwound unwound;

	jp_unwind(stacks->unwinder, spaces, sample, method, frames, FRAMES, &unwound);
	*stack = (struct jp_stack){
		.method = method,
		.frames = unwound.frames,
		.count = unwound.count,
		.stop = unwound.stop,
		.where = unwound.where,
	};
}

/* By the dump alone. */
static void walk_dump(struct jp_stacks *stacks, struct jp_replay *spaces,
		      const struct jp_event *sample, struct jp_stack *stack)
{
	walk(stacks, spaces, sample, JP_DUMP_CFI, stacks->frames, stack);
	/* Whatever the code has, there is nothing to walk. */
	if (!sample->sample.stack_size)
		stack->stop = JP_UNWIND_DUMP_SHORT;
	if (stack->stop != JP_UNWIND_NO_CFI && stack->stop != JP_UNWIND_UNMAPPED)
		return;
	walk(stacks, spaces, sample, stack->stop == JP_UNWIND_NO_CFI ? JP_DUMP : JP_DUMP_FP,
	     stacks->others, &stacks->other);
	stack->other = &stacks->other;
}

void jp_stacks_of(struct jp_stacks *stacks, struct jp_replay *spaces, const struct jp_event *sample,
		  struct jp_stack *stack)
{
	const struct jp_event_asked *asked = sample->asked;
	const bool dumped = sample->sample.regs && asked && asked->stack;

	*stack = (struct jp_stack){.method = JP_CHAIN, .stop = JP_UNWIND_NO_DATA};
	/* What the kernel adds of the user's part is not what was asked for. */
	if (asked && !asked->user)
		return;
	if (asked && asked->max_stack)
		jp_unwinder_max_stack(stacks->unwinder, asked->max_stack);
	if (asked && asked->user_chain)
		walk(stacks, spaces, sample, JP_CHAIN, NULL, stack);
	if (dumped && !stack->count) {
		walk_dump(stacks, spaces, sample, stack);
	} else if (dumped) {
		walk(stacks, spaces, sample, JP_DUMP, stacks->frames, &stacks->other);
		stack->other = &stacks->other;
	}
	if (!stack->count && sample->sample.user) {
		stacks->ip = sample->sample.ip;
		stack->frames = &stacks->ip;
		stack->count = 1;
		stack->stop = JP_UNWIND_NO_DATA;
	}
}
