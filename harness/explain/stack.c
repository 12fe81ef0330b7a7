// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/stack.h"

#include <stdlib.h>

#include "harness/base/map.h"
#include "harness/explain/code.h"
#include "harness/explain/recorder.h"
#include "harness/model/space/mapping_name.h"

enum { FRAMES = 1024 };
/* Facts about a file. */
enum { SEEN = 1, INDEXED = 2, NOT_INDEXED = 4, MISPLACED = 8 };

struct jp_stacks {
	struct jp_unwinder *unwinder;
	uint64_t ip; /* the only frame of a sample without a stack */
	uint64_t frames[FRAMES], others[FRAMES];
	struct jp_stack other;
	struct jp_file_finder *finder;
	struct jp_map files; /* facts about files, by address of the name */
	const struct jp_perfdata_summary *summary;
};

struct jp_stacks *jp_stacks_new(const char *elf_dir, struct jp_file_finder *finder,
				const struct jp_perfdata_summary *summary)
{
	struct jp_stacks *stacks = calloc(1, sizeof(*stacks));

	if (stacks && !(stacks->unwinder = jp_unwinder_new(elf_dir, finder))) {
		free(stacks);
		return NULL;
	}
	if (!stacks)
		return NULL;
	stacks->finder = finder;
	stacks->summary = summary;
	return stacks;
}

void jp_stacks_free(struct jp_stacks *stacks)
{
	if (!stacks)
		return;
	jp_unwinder_free(stacks->unwinder);
	jp_map_free(&stacks->files);
	free(stacks);
}

static void walk_stack(struct jp_stacks *stacks, struct jp_replay *spaces,
		       const struct jp_event *sample, enum jp_method method, uint64_t *frames,
		       struct jp_stack *stack)
{
	struct jp_unwound unwound;

	jp_unwind(stacks->unwinder, spaces, sample, method, frames, FRAMES, &unwound);
	*stack = (struct jp_stack){
		.method = method,
		.frames = unwound.frames,
		.count = unwound.count,
		.stop = unwound.stop,
		.where = unwound.stop_addr,
	};
}

/* Returns whether the file of @mapping has an index of call frame information (INDEXED or
 * NOT_INDEXED), and whether perf looks it up at wrong addresses (MISPLACED). */
static uint64_t find_facts(struct jp_stacks *stacks, const struct jp_mapping *mapping)
{
	uint64_t *known = jp_map_at(&stacks->files, (uintptr_t)mapping->name, sizeof(*known));
	const struct jp_wanted_file wanted = {.path = mapping->name, .pid = mapping->pid};
	struct jp_elf_tables tables;

	if (!known || *known)
		return known ? *known : SEEN;
	*known = SEEN;
	if (!jp_code_read_tables(stacks->finder, &wanted, &tables))
		return *known;
	*known |= tables.frame_index ? INDEXED : NOT_INDEXED;
	if (jp_recorder_misplaces(stacks->summary, &tables))
		*known |= MISPLACED;
	return *known;
}

/* Ends @stack at the first file whose call frame information perf does not find, and returns
 * whether there is one. perf with libunwind needs an index (read_unwind_spec_eh_frame() in
 * tools/perf/util/unwind-libunwind-local.c). */
static bool end_where_perf_ends(struct jp_stacks *stacks, struct jp_replay *spaces, uint32_t pid,
				struct jp_stack *stack)
{
	const uint64_t last = stack->count - (stack->stop != JP_UNWIND_NO_CFI);
	const struct jp_mapping *mapping = NULL;
	uint64_t unread = MISPLACED;

	if (!stack->count)
		return false;
	if (!jp_recorder_since(stacks->summary, JP_PERF_VERSION(7, 0)))
		unread |= NOT_INDEXED;
	for (uint64_t i = 0; i < last; i++) {
		const uint64_t addr = stack->frames[i];

		if (mapping && addr - mapping->start < mapping->end - mapping->start)
			continue;
		mapping = jp_replay_find(spaces, pid, addr);
		if (!mapping || *mapping->name != '/' || !(find_facts(stacks, mapping) & unread))
			continue;
		stack->count = i + 1;
		stack->stop = JP_UNWIND_NO_ELF;
		stack->where = addr;
		return true;
	}
	return false;
}

/* Returns whether perf continues by frame pointers where the walk ended: in a file with call frame
 * information, but none for the address (docs/unwinding.md). */
static bool perf_continues(struct jp_stacks *stacks, struct jp_replay *spaces, uint32_t pid,
			   const struct jp_stack *stack)
{
	const struct jp_mapping *mapping = jp_replay_find(spaces, pid, stack->where);

	if (!mapping || mapping->backing != JP_BACKING_FILE || *mapping->name != '/')
		return false;
	return stack->stop == JP_UNWIND_NO_CFI ||
	       (stack->stop == JP_UNWIND_NO_ELF && jp_mapping_injected(mapping->name) &&
		find_facts(stacks, mapping) & INDEXED);
}

static bool are_all_frames_in_files(struct jp_replay *spaces, uint32_t pid,
				    const struct jp_stack *stack)
{
	for (uint64_t i = 0; i < stack->count; i++) {
		const struct jp_mapping *mapping = jp_replay_find(spaces, pid, stack->frames[i]);

		if (!mapping || mapping->backing != JP_BACKING_FILE)
			return false;
	}
	return true;
}

/* Moves the end of @stack to the frame of @other that follows it, if that is in emitted code: perf
 * goes on to there. */
static void end_in_emitted_code(struct jp_replay *spaces, uint32_t pid, struct jp_stack *stack,
				const struct jp_stack *other)
{
	const uint64_t next = other->count > stack->count ? other->frames[stack->count] : 0;
	const struct jp_mapping *mapping = jp_replay_find(spaces, pid, next);

	if (mapping && mapping->prot & JP_PROT_EXEC && stack->stop == JP_UNWIND_NO_CFI &&
	    jp_code_classify(mapping->backing, mapping->name) == JP_CODE_EMITTED)
		stack->where = next;
}

/* Continues the walk by frame pointers, as perf does, if this reaches the root of the stack.
 * Returns whether it does. */
static bool continue_walk(struct jp_stacks *stacks, struct jp_replay *spaces,
			  const struct jp_event *sample, struct jp_stack *stack)
{
	bool ended;

	if (!perf_continues(stacks, spaces, sample->pid, stack))
		return false;
	jp_unwinder_frame_pointers(stacks->unwinder, true);
	walk_stack(stacks, spaces, sample, JP_DUMP, stacks->others, &stacks->other);
	jp_unwinder_frame_pointers(stacks->unwinder, false);
	ended = end_where_perf_ends(stacks, spaces, sample->pid, &stacks->other);
	if ((stacks->other.stop != JP_UNWIND_ROOT && !ended) ||
	    !are_all_frames_in_files(spaces, sample->pid, &stacks->other)) {
		stack->switched = stacks->other.stop == JP_UNWIND_BAD_FRAME &&
				  stacks->other.count == stack->count;
		end_in_emitted_code(spaces, sample->pid, stack, &stacks->other);
		return false;
	}
	stacks->other.informed = stack->count;
	stacks->other.loses_sp = jp_recorder_uses_libunwind(stacks->summary);
	*stack = stacks->other;
	stack->method = JP_DUMP_CFI;
	return true;
}

static void walk_dump(struct jp_stacks *stacks, struct jp_replay *spaces,
		      const struct jp_event *sample, struct jp_stack *stack)
{
	walk_stack(stacks, spaces, sample, JP_DUMP_CFI, stacks->frames, stack);
	end_where_perf_ends(stacks, spaces, sample->pid, stack);
	/* An empty dump counts as a dump that is too short. */
	if (!sample->sample.stack_size)
		stack->stop = JP_UNWIND_DUMP_SHORT;
	if (continue_walk(stacks, spaces, sample, stack) ||
	    (stack->stop != JP_UNWIND_NO_CFI && stack->stop != JP_UNWIND_UNMAPPED))
		return;
	walk_stack(stacks, spaces, sample, stack->stop == JP_UNWIND_NO_CFI ? JP_DUMP : JP_DUMP_FP,
		   stacks->others, &stacks->other);
	stack->other = &stacks->other;
}

void jp_stacks_read(struct jp_stacks *stacks, struct jp_replay *spaces,
		    const struct jp_event *sample, struct jp_stack *stack)
{
	const struct jp_event_asked *asked = sample->asked;
	const bool dumped = sample->sample.regs && asked && asked->stack;

	*stack = (struct jp_stack){.method = JP_CHAIN, .stop = JP_UNWIND_NO_DATA};
	/* Ignore a user part that was not requested. */
	if (asked && !asked->user)
		return;
	if (asked && asked->user_chain)
		walk_stack(stacks, spaces, sample, JP_CHAIN, NULL, stack);
	if (dumped && !stack->count) {
		walk_dump(stacks, spaces, sample, stack);
	} else if (dumped) {
		walk_stack(stacks, spaces, sample, JP_DUMP, stacks->frames, &stacks->other);
		stack->other = &stacks->other;
	}
	if (!stack->count && sample->sample.user) {
		stacks->ip = sample->sample.ip;
		stack->frames = &stacks->ip;
		stack->count = 1;
		stack->stop = JP_UNWIND_NO_DATA;
	}
}
