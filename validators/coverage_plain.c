// SPDX-License-Identifier: GPL-2.0-only
#include "validators/coverage_plain.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/map.h"
#include "harness/model/space/ranges.h"

/* State of a walk over one process's acts from the last to the first: the acts visited so far. The
 * number of an act is its index + 1; 0: none. */
struct later_acts {
	struct jp_ranges *ranges; /* by address range: the next act that changes the range */
	uint32_t renewed; /* the next act that starts or ends the process, or its next exec */
};

static int mark_touched_memory(struct later_acts *next, uint64_t start, uint64_t len, uint32_t act)
{
	if (!next->ranges && !(next->ranges = jp_ranges_new()))
		return -ENOMEM;
	return len ? jp_ranges_set(&next->ranges, start, start + len, act) : 0;
}

/* Returns the first act that changes memory in [@start, @end). */
static uint32_t find_next_touch(const struct later_acts *next, uint64_t start, uint64_t end)
{
	uint32_t first = next->renewed;

	for (uint64_t addr = start; next->ranges && addr < end;) {
		const struct jp_range range = jp_ranges_at(next->ranges, addr);

		if (range.value && (!first || range.value < first))
			first = range.value;
		addr = range.end;
	}
	return first;
}

static int add_plain_memory(struct jp_plains *plains, const struct jp_truth *truth,
			    const struct jp_event *act, const struct later_acts *next)
{
	const uint64_t end = act->map.addr + act->map.len;
	const uint32_t touch = find_next_touch(next, act->map.addr, end);

	return jp_array_append(
		&plains->list, &plains->count, &plains->capacity,
		(struct jp_plain){act, touch ? truth->acts[touch - 1].before : UINT64_MAX});
}

/* Stores act @i as the next act for all memory that it changes. If it maps memory without
 * PROT_EXEC, adds this memory to @plains. Returns 0 or -ENOMEM. */
static int visit_act(struct jp_plains *plains, const struct jp_truth *truth, size_t i,
		     struct later_acts *next)
{
	const struct jp_event *act = &truth->acts[i];
	const uint32_t number = (uint32_t)i + 1;
	int failed = 0;

	if (act->type == JP_EVENT_MAP && !(act->map.prot & JP_PROT_EXEC))
		failed = add_plain_memory(plains, truth, act, next);
	if (failed || act->type == JP_EVENT_END || jp_event_starts_process(act)) {
		jp_ranges_free(next->ranges);
		*next = (struct later_acts){.renewed = number};
		return failed;
	}
	switch (act->type) {
	case JP_EVENT_REMAP:
		failed = mark_touched_memory(next, act->map.new_addr, act->map.new_len, number);
		/* fall through */
	case JP_EVENT_MAP:
	case JP_EVENT_PROTECT:
	case JP_EVENT_UNMAP:
		return failed ?: mark_touched_memory(next, act->map.addr, act->map.len, number);
	default:
		return 0;
	}
}

static int index_plains(struct jp_plains *plains)
{
	int failed = 0;

	/* Restore the order: the acts were found from the last to the first. */
	for (size_t i = 0; i < plains->count / 2; i++) {
		const struct jp_plain saved = plains->list[i];

		plains->list[i] = plains->list[plains->count - 1 - i];
		plains->list[plains->count - 1 - i] = saved;
	}
	for (size_t i = 0; !failed && i < plains->count; i++) {
		const struct jp_event *act = plains->list[i].act;

		failed = jp_boxes_add(&plains->boxes, act->pid,
				      &(struct jp_box){act->map.addr, act->map.addr + act->map.len,
						       act->after, plains->list[i].untouched},
				      i);
	}
	jp_boxes_build(&plains->boxes);
	return failed;
}

int jp_plains_collect(const struct jp_truth *truth, struct jp_plains *plains)
{
	struct jp_map processes = {0}; /* pid -> struct later_acts */
	struct later_acts *next;
	int failed = 0;

	*plains = (struct jp_plains){0};
	for (size_t i = truth->nr_acts; i-- > 0 && !failed;) {
		next = jp_map_at(&processes, truth->acts[i].pid, sizeof(*next));
		failed = next ? visit_act(plains, truth, i, next) : -ENOMEM;
	}
	for (size_t cursor = 0; (next = jp_map_next(&processes, &cursor, NULL));)
		jp_ranges_free(next->ranges);
	jp_map_free(&processes);
	return failed ?: index_plains(plains);
}

void jp_plains_free(struct jp_plains *plains)
{
	jp_boxes_free(&plains->boxes);
	free(plains->list);
	*plains = (struct jp_plains){0};
}
