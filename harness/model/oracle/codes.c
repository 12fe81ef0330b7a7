// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/collect.h"
#include "harness/base/cleanup.h"
#include "harness/base/search.h"

#include <errno.h>
#include <stdlib.h>

static int add_code(struct jp_truth_collector *collector, struct jp_truth_process *process,
		    const struct jp_truth_code *code)
{
	struct jp_truth_live_code *live;
	uint32_t *index;

	if (collector->nr_codes >= JP_TRUTH_MOST_CODES)
		return -E2BIG;
	index = jp_map_at(&collector->code_of, jp_truth_pair(process->process.pid, code->id),
			  sizeof(*index));
	live = index ? jp_array_push(&collector->codes, &collector->nr_codes,
				     &collector->codes_capacity)
		     : NULL;
	if (!live)
		return -ENOMEM;
	*live = (struct jp_truth_live_code){*code, process->codes};
	live->code.pid = process->process.pid;
	process->codes = *index = collector->nr_codes;
	return 0;
}

uint32_t jp_truth_live_code(const struct jp_truth_collector *collector, uint32_t pid, uint64_t id)
{
	const uint32_t *index =
		id <= UINT32_MAX ? jp_map_find(&collector->code_of, jp_truth_pair(pid, id)) : NULL;

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

/* Unloads it; or moves it. */
static int take_away(struct jp_truth_collector *collector, struct jp_truth_process *process,
		     const struct jp_event *event)
{
	uint32_t *index = event->code.id <= UINT32_MAX
				  ? jp_map_find(&collector->code_of,
						jp_truth_pair(process->process.pid, event->code.id))
				  : NULL;
	struct jp_truth_code *code = index && *index ? &collector->codes[*index - 1].code : NULL;
	struct jp_truth_code moved;

	if (!code || (event->type == JP_EVENT_CODE_MOVE &&
		      event->code.addr + code->size < event->code.addr)) {
		jp_truth_contradicts(collector->truth);
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
		ret = (event->type == JP_EVENT_CODE_LOAD ? load_code : take_away)(
			collector, (struct jp_truth_process *)process, event);
		process = process->shares;
	} while (!ret && process != own);
	return ret;
}

int jp_truth_end_codes(struct jp_truth_collector *collector, struct jp_truth_process *process,
		       const struct jp_event *event)
{
	for (uint32_t at = process->codes; at; at = collector->codes[at - 1].next) {
		struct jp_truth_code *code = &collector->codes[at - 1].code;
		uint32_t *index =
			jp_map_find(&collector->code_of, jp_truth_pair(code->pid, code->id));

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
	uint32_t *at = &parent->codes, index;
	int ret = 0;

	while (*at && !ret) {
		struct jp_truth_code code = collector->codes[*at - 1].code;

		if (++collector->steps > JP_TRUTH_MOST_STEPS)
			return -E2BIG;
		/* What is dead is passed by once. */
		if (code.unloaded != UINT64_MAX) {
			*at = collector->codes[*at - 1].next;
			continue;
		}
		/* An index, not a pointer: the codes grow under our feet. */
		index = *at;
		code.loaded = event->before;
		code.ready = event->after;
		ret = add_code(collector, child, &code);
		at = &collector->codes[index - 1].next;
	}
	return ret;
}

static int by_place(const void *a, const void *b)
{
	const struct jp_truth_code *one = &(*(struct jp_truth_live_code *const *)a)->code;
	const struct jp_truth_code *other = &(*(struct jp_truth_live_code *const *)b)->code;

	return jp_compare(one->pid, other->pid)
		       ?: jp_compare(one->addr, other->addr)
		       ?: jp_compare(one->loaded, other->loaded);
}

/* Sorts the codes and turns the versions' indices into pointers to them. */
int jp_truth_build_codes(struct jp_truth_collector *collector)
{
	struct jp_truth *truth = collector->truth;
	size_t count = collector->nr_codes, steps = 0;
	jp_cleanup_free struct jp_truth_live_code **order = calloc(count + 1, sizeof(*order));
	jp_cleanup_free uint32_t *sorted = calloc(count + 1, sizeof(*sorted));
	uint64_t reach = 0;

	truth->codes = calloc(count + 1, sizeof(*truth->codes));
	truth->code_reach = calloc(count + 1, sizeof(uint64_t));
	truth->paths = calloc(collector->nr_versions + 1, sizeof(*truth->paths));
	for (size_t i = 0; i < collector->nr_versions; i++)
		steps += collector->versions[i].depth;
	truth->path_functions = calloc(steps + 1, sizeof(*truth->path_functions));
	if (!truth->path_functions || !order || !sorted || !truth->codes || !truth->code_reach ||
	    !truth->paths)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		order[i] = &collector->codes[i];
	qsort(order, count, sizeof(*order), by_place);
	for (size_t i = 0; i < count; i++) {
		const struct jp_truth_code *code = &order[i]->code;

		truth->codes[i] = *code;
		sorted[order[i] - collector->codes] = i;
		if (!i || code->pid != truth->codes[i - 1].pid)
			reach = 0;
		if (reach < code->addr + code->size)
			reach = code->addr + code->size;
		truth->code_reach[i] = reach;
	}
	truth->nr_codes = count;
	steps = 0;
	for (size_t i = 0; i < collector->nr_versions; i++) {
		const struct jp_truth_version *version = &collector->versions[i];
		struct jp_truth_path *path = &truth->paths[i];

		path->id = version->id;
		path->depth = version->depth;
		path->functions = truth->path_functions + steps;
		steps += version->depth;
		for (uint32_t d = 0; d < version->depth; d++)
			path->functions[d] = &truth->codes[sorted[version->codes[d]]];
	}
	truth->nr_paths = collector->nr_versions;
	return 0;
}
