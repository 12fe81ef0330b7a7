// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/collect.h"
#include "harness/base/cleanup.h"
#include "harness/base/order.h"
#include "harness/base/sort.h"

#include <errno.h>
#include <stdlib.h>

static int add_code(struct jp_truth_collector *collector, struct jp_truth_process *process,
		    const struct jp_truth_code *code)
{
	struct jp_truth *truth = collector->truth;
	struct jp_truth_code *added;
	uint32_t *index;

	if (truth->nr_codes >= JP_TRUTH_MOST_CODES)
		return -E2BIG;
	index = jp_map_at(&collector->code_of, jp_truth_make_key(process->process.pid, code->id),
			  sizeof(*index));
	added = index ? jp_array_push(&truth->codes, &truth->nr_codes, &collector->codes_capacity)
		      : NULL;
	if (!added)
		return -ENOMEM;
	*added = *code;
	added->pid = process->process.pid;
	added->next = process->codes;
	process->codes = *index = truth->nr_codes;
	return 0;
}

uint32_t jp_truth_live_code(const struct jp_truth_collector *collector, uint32_t pid, uint64_t id)
{
	const uint32_t *index =
		id <= UINT32_MAX ? jp_map_find(&collector->code_of, jp_truth_make_key(pid, id))
				 : NULL;

	return index ? *index : 0;
}

static int load_code(struct jp_truth_collector *collector, struct jp_truth_process *process,
		     const struct jp_event *event)
{
	return add_code(collector, process,
			&(struct jp_truth_code){.id = event->code.id,
						.by_pid = event->pid,
						.by_tid = event->tid,
						.addr = event->code.addr,
						.size = event->code.size,
						.loaded = event->before,
						.unloaded = UINT64_MAX,
						.ready = event->after,
						.ending = UINT64_MAX,
						.layout = event->code.layout,
						.frames = event->code.frames,
						.name = event->code.name});
}

static void end_code(struct jp_truth_code *code, const struct jp_event *event)
{
	code->unloaded = event->after;
	code->ending = event->before;
}

static int move_or_unload_code(struct jp_truth_collector *collector,
			       struct jp_truth_process *process, const struct jp_event *event)
{
	uint32_t *index =
		event->code.id <= UINT32_MAX
			? jp_map_find(&collector->code_of,
				      jp_truth_make_key(process->process.pid, event->code.id))
			: NULL;
	struct jp_truth_code *code = index && *index ? &collector->truth->codes[*index - 1] : NULL;
	struct jp_truth_code moved;

	if (!code || (event->type == JP_EVENT_CODE_MOVE &&
		      (event->code.addr + code->size < event->code.addr ||
		       event->code.addr == code->addr))) {
		jp_truth_count_contradiction(collector->truth);
		return 0;
	}
	process->generation++;
	end_code(code, event);
	*index = 0;
	if (event->type == JP_EVENT_CODE_UNLOAD)
		return 0;
	moved = *code;
	moved.by_pid = event->pid;
	moved.by_tid = event->tid;
	moved.addr = event->code.addr;
	moved.loaded = event->before;
	moved.unloaded = UINT64_MAX;
	moved.ready = event->after;
	moved.ending = UINT64_MAX;
	return add_code(collector, process, &moved);
}

int jp_truth_follow_code(struct jp_truth_collector *collector, const struct jp_event *event)
{
	struct jp_process *own = jp_processes_at(&collector->processes, event->pid), *process = own;
	int ret;

	if (!own)
		return -ENOMEM;
	do {
		if (++collector->steps > JP_TRUTH_MOST_STEPS)
			return -E2BIG;
		ret = (event->type == JP_EVENT_CODE_LOAD ? load_code : move_or_unload_code)(
			collector, (struct jp_truth_process *)process, event);
		process = process->shares;
	} while (!ret && process != own);
	return ret;
}

int jp_truth_end_codes(struct jp_truth_collector *collector, struct jp_truth_process *process,
		       const struct jp_event *event)
{
	for (uint32_t number = process->codes; number;
	     number = collector->truth->codes[number - 1].next) {
		struct jp_truth_code *code = &collector->truth->codes[number - 1];
		uint32_t *index =
			jp_map_find(&collector->code_of, jp_truth_make_key(code->pid, code->id));

		if (code->unloaded == UINT64_MAX)
			end_code(code, event);
		if (index)
			*index = 0;
	}
	process->codes = 0;
	process->generation++;
	return 0;
}

int jp_truth_inherit_codes(struct jp_truth_collector *collector, struct jp_truth_process *child,
			   struct jp_truth_process *parent, const struct jp_event *event)
{
	struct jp_truth *truth = collector->truth;
	uint32_t *link = &parent->codes, index;
	int ret = 0;

	while (*link && !ret) {
		struct jp_truth_code code = truth->codes[*link - 1];

		if (++collector->steps > JP_TRUTH_MOST_STEPS)
			return -E2BIG;
		/* Remove unloaded code from the list. */
		if (code.unloaded != UINT64_MAX) {
			*link = code.next;
			continue;
		}
		/* Keep an index, not a pointer: add_code() may move the array. */
		index = *link;
		code.loaded = event->before;
		code.ready = event->after;
		ret = add_code(collector, child, &code);
		link = &truth->codes[index - 1].next;
	}
	return ret;
}

JP_ORDER(compare_by_place, struct jp_truth_code,
	 jp_compare(a->pid, b->pid)
		 ?: jp_compare(a->addr, b->addr)
		 ?: jp_compare(a->loaded, b->loaded)
		 ?: jp_compare(a->next, b->next));

/* Sorts the codes, stores the new index of each old one in @ranks, and fills truth->code_reach. */
static void sort_codes(struct jp_truth *truth, uint32_t *ranks)
{
	uint64_t reach = 0;

	for (size_t i = 0; i < truth->nr_codes; i++)
		truth->codes[i].next = i;
	jp_sort(truth->codes, truth->nr_codes, compare_by_place);
	for (size_t i = 0; i < truth->nr_codes; i++) {
		const struct jp_truth_code *code = &truth->codes[i];

		ranks[code->next] = i;
		if (!i || code->pid != code[-1].pid)
			reach = 0;
		reach = jp_max(reach, code->addr + code->size);
		truth->code_reach[i] = reach;
	}
}

int jp_truth_build_codes(struct jp_truth_collector *collector)
{
	struct jp_truth *truth = collector->truth;
	const size_t count = truth->nr_codes;
	jp_cleanup_free uint32_t *ranks = calloc(count + 1, sizeof(*ranks));
	size_t steps = 0;

	/* Free it now, since sorting needs as much memory. */
	jp_map_free(&collector->code_of);
	truth->code_reach = calloc(count + 1, sizeof(uint64_t));
	truth->paths = calloc(collector->nr_versions + 1, sizeof(*truth->paths));
	for (size_t i = 0; i < collector->nr_versions; i++)
		steps += collector->versions[i].depth;
	truth->path_functions = calloc(steps + 1, sizeof(*truth->path_functions));
	if (!truth->path_functions || !ranks || !truth->code_reach || !truth->paths)
		return -ENOMEM;
	sort_codes(truth, ranks);
	steps = 0;
	for (size_t i = 0; i < collector->nr_versions; i++) {
		const struct jp_truth_version *version = &collector->versions[i];
		struct jp_truth_path *path = &truth->paths[i];

		path->id = version->id;
		path->depth = version->depth;
		path->functions = truth->path_functions + steps;
		steps += version->depth;
		for (uint32_t d = 0; d < version->depth; d++)
			path->functions[d] = &truth->codes[ranks[version->codes[d]]];
	}
	truth->nr_paths = collector->nr_versions;
	return 0;
}
