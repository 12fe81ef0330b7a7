// SPDX-License-Identifier: GPL-2.0-only
#include "validators/code_incarnations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/order.h"
#include "harness/base/search.h"

/* Returns @time minus @slack, but not less than 0. Returns UINT64_MAX unchanged. */
static uint64_t subtract_from_time(uint64_t time, uint64_t slack)
{
	return time == UINT64_MAX ? time : time - jp_min(time, slack);
}

size_t jp_incarnations_find_from(const struct jp_incarnations *incarnations, uint32_t pid,
				 uint64_t start)
{
	const struct jp_incarnation *list = incarnations->incarnations;
	size_t i;

	start = subtract_from_time(start, incarnations->largest);
	jp_search(i, incarnations->count,
		  list[i].code->pid < pid ||
			  (list[i].code->pid == pid && list[i].code->addr < start));
	return i;
}

struct jp_incarnation *jp_incarnations_find_at(const struct jp_incarnations *incarnations,
					       uint32_t pid, uint64_t ip, uint64_t time)
{
	const struct jp_truth *truth = incarnations->evidence->truth;
	const struct jp_truth_code *code = jp_truth_code_at(truth, pid, ip, time);

	return code ? &incarnations->incarnations[code - truth->codes] : NULL;
}

/* Returns the incarnation with the address, size and name of @load, or NULL. If there are several,
 * returns the last that was loaded up to the time of @load, or else the last of all, because a
 * jitdump may record loads too early or too late. */
static struct jp_incarnation *find_incarnation(const struct jp_incarnations *incarnations,
					       const struct jp_code_load *load)
{
	uint64_t slack = incarnations->evidence->info.slack;
	struct jp_incarnation *latest = NULL;
	for (size_t i = jp_incarnations_find_from(incarnations, load->pid, load->addr);
	     i < incarnations->count; i++) {
		struct jp_incarnation *incarnation = &incarnations->incarnations[i];
		const struct jp_truth_code *code = incarnation->code;

		if (code->pid != load->pid || code->addr > load->addr)
			break;

		if (code->addr == load->addr && code->size == load->size &&
		    strcmp(code->name, load->name) == 0 &&
		    (!latest || load->time >= subtract_from_time(code->loaded, slack)))
			latest = incarnation;
	}
	return latest;
}

bool jp_incarnations_has_other(const struct jp_incarnations *incarnations, uint32_t pid,
			       const char *name)
{
	bool has_others = false, is_known = false;

	for (size_t i = 0; i < incarnations->count; i++) {
		const struct jp_truth_code *code = incarnations->incarnations[i].code;
		bool is_same_name = strcmp(code->name, name) == 0;

		if (is_same_name && code->pid == pid)
			return false;
		is_known |= code->pid == pid;
		has_others |= is_same_name;
	}
	return is_known && has_others;
}

static bool has_dump(const struct jp_code_loads *loads, uint32_t pid)
{
	for (size_t i = 0; i < loads->count; i++)
		if (loads->loads[i].owner == pid)
			return true;
	return false;
}

/* Returns whether @pid was forked by @owner or by a descendant of @owner. */
static bool is_descendant(const struct jp_truth *truth, uint32_t pid, uint32_t owner)
{
	/* Pids are reused, so the chain of parents may be a circle. */
	for (size_t nr_left = truth->nr_incarnations; pid != owner && nr_left; nr_left--) {
		uint32_t parent = 0;

		for (size_t i = 0; jp_groups_next(&truth->acts_of.lifecycle, pid, &i); i++)
			if (truth->acts[i].type == JP_EVENT_FORK && truth->acts[i].task.ppid != pid)
				parent = truth->acts[i].task.ppid;
		if (!parent)
			return false;
		pid = parent;
	}
	return pid == owner;
}

/* Returns whether the process that wrote the dump of @load also has the code, or is an ancestor of
 * the process that has it. In the latter case the process must have no dump of its own, so that it
 * may continue its ancestor's dump. */
static bool has_owner(const struct jp_incarnations *incarnations, const struct jp_code_loads *loads,
		      const struct jp_code_load *load)
{
	struct jp_code_load owner = *load;

	owner.pid = load->owner;
	return load->pid == load->owner || find_incarnation(incarnations, &owner) ||
	       (find_incarnation(incarnations, load) && !has_dump(loads, load->pid) &&
		is_descendant(incarnations->evidence->truth, load->pid, load->owner));
}

/* Counts a load that belongs to no incarnation. perf inject adds a load to the process that the
 * load record names, even if another process's dump contains the record. */
static void count_stray_load(struct jp_incarnations *incarnations,
			     const struct jp_code_loads *loads, const struct jp_code_load *load)
{
	bool misplaced = !has_owner(incarnations, loads, load) ||
			 jp_incarnations_has_other(incarnations, load->pid, load->name);
	struct jp_strays *strays =
		misplaced ? &incarnations->nr_misplaced : &incarnations->nr_stray;

	if (!strays->count++)
		strays->first_load = load;
}

/* Copies the publication time of code that a child inherits, because the parent published the code
 * before the fork. */
static void inherit_publication(struct jp_incarnations *incarnations, const struct jp_event *start)
{
	for (size_t i = jp_incarnations_find_from(incarnations, start->pid, 0);
	     i < incarnations->count && incarnations->incarnations[i].code->pid == start->pid;
	     i++) {
		struct jp_incarnation *incarnation = &incarnations->incarnations[i];
		const struct jp_incarnation *parent_incarnation;

		if (incarnation->published_time != UINT64_MAX ||
		    incarnation->code->loaded != start->before)
			continue;
		parent_incarnation = jp_incarnations_find_at(
			incarnations, start->task.ppid, incarnation->code->addr, start->before);
		if (!parent_incarnation || parent_incarnation->published_time > start->after ||
		    parent_incarnation->code->id != incarnation->code->id)
			continue;
		incarnation->published_time = parent_incarnation->published_time;
	}
}

/* Moves the begin of the judged time of @incarnation to the time at which its memory is executable.
 * If it never is, makes the judged time empty. */
static void delay_until_executable(const struct jp_incarnations *incarnations,
				   const struct jp_spans *spans, struct jp_incarnation *incarnation)
{
	const struct jp_truth_code *code = incarnation->code;
	struct jp_box box = {code->addr, code->addr + 1, incarnation->begin, UINT64_MAX};
	uint64_t first = UINT64_MAX;
	const struct jp_span *span;

	for (size_t cursor = 0; (span = jp_spans_next(spans, code->pid, &box, &cursor));)
		if (span->close_before > incarnation->begin)
			box.end_time = first = jp_min(first, span->open_after);
	if (first == UINT64_MAX)
		incarnation->end = 0;
	else
		incarnation->begin =
			jp_max(incarnation->begin, first + incarnations->evidence->info.slack);
}

int jp_incarnations_collect(const struct jp_view *view, const struct jp_code_loads *loads,
			    struct jp_incarnations *incarnations)
{
	const struct jp_evidence *evidence = view->evidence;
	const struct jp_truth *truth = evidence->truth;
	const struct jp_capture_info *info = &evidence->info;
	const struct jp_truth_code *code;
	struct jp_incarnation *incarnation;

	*incarnations = (struct jp_incarnations){.evidence = evidence, .count = truth->nr_codes};
	incarnations->incarnations =
		calloc(truth->nr_codes ?: 1, sizeof(*incarnations->incarnations));
	if (!incarnations->incarnations)
		return -ENOMEM;
	incarnation = incarnations->incarnations;
	code = truth->codes;
	for (size_t nr_left = truth->nr_codes; nr_left; nr_left--, incarnation++, code++) {
		*incarnation = (struct jp_incarnation){
			.code = code,
			.published_time = UINT64_MAX,
			.begin = jp_max(code->ready + info->slack, info->sampling),
			.end = jp_min(subtract_from_time(code->ending, info->slack), info->stopped),
		};
		delay_until_executable(incarnations, view->truth, incarnation);
		incarnations->largest = jp_max(incarnations->largest, code->size);
	}
	for (size_t i = 0; i < loads->count; i++) {
		incarnation = find_incarnation(incarnations, &loads->loads[i]);
		if (!incarnation || !has_owner(incarnations, loads, &loads->loads[i])) {
			count_stray_load(incarnations, loads, &loads->loads[i]);
			continue;
		}
		/* If code was published repeatedly, use the last time before its judged time. */
		if (incarnation->published_time == UINT64_MAX ||
		    loads->loads[i].time <= incarnation->begin)
			incarnation->published_time = loads->loads[i].time;
	}
	for (size_t i = 0; i < truth->nr_acts; i++)
		if (truth->acts[i].type == JP_EVENT_FORK)
			inherit_publication(incarnations, &truth->acts[i]);
	for (size_t i = 0; i < incarnations->count; i++)
		incarnations->loads +=
			incarnations->incarnations[i].published_time != UINT64_MAX &&
			incarnations->incarnations[i].begin < incarnations->incarnations[i].end;
	return 0;
}

void jp_incarnations_free(struct jp_incarnations *incarnations)
{
	free(incarnations->incarnations);
	memset(incarnations, 0, sizeof(*incarnations));
}

void jp_incarnations_reset_covered(struct jp_incarnations *incarnations)
{
	for (size_t i = 0; i < incarnations->count; i++) {
		incarnations->incarnations[i].hider = (struct jp_hider){0};
		incarnations->incarnations[i].low = incarnations->incarnations[i].high = 0;
	}
}

/* Returns the cause why @map covers @code; causes: see jp_incarnations_mark_covered(). */
static const char *find_cause(const struct jp_evidence *evidence, const struct jp_event *map,
			      const struct jp_truth_code *code)
{
	const struct jp_truth *truth = evidence->truth;
	uint64_t slack = evidence->info.slack;
	const char *cause = "no-act";

	for (size_t i = 0; i < truth->nr_acts; i++) {
		const struct jp_event *act = &truth->acts[i];

		if (act->before > map->time + slack)
			break;
		if (act->pid != map->pid || act->after + slack < map->time ||
		    (act->type != JP_EVENT_MAP && act->type != JP_EVENT_PROTECT))
			continue;
		/* Threads act at the same time: prefer the operation that changed this memory. */
		if (act->map.addr < code->addr + code->size &&
		    code->addr < act->map.addr + act->map.len)
			return act->type == JP_EVENT_MAP ? "remapped" : "reprotected";
		if (act->map.addr < map->map.addr + map->map.len &&
		    map->map.addr < act->map.addr + act->map.len)
			cause = "coalesced";
	}
	/* Check snapshots only if no act is the cause, because live records may come before the
	 * snapshot is complete. */
	for (size_t i = 0; strcmp(cause, "no-act") == 0 && i < evidence->snapshots.count; i++)
		if (evidence->snapshots.list[i].pid == map->pid &&
		    map->time <= evidence->snapshots.list[i].after)
			cause = "snapshot";
	return cause;
}

void jp_incarnations_mark_covered(struct jp_incarnations *incarnations, const struct jp_event *map,
				  const char *name)
{
	uint64_t start = map->map.addr, end = start + map->map.len;

	if (map->kernel_map || end <= start)
		return;
	for (size_t i = jp_incarnations_find_from(incarnations, map->pid, start);
	     i < incarnations->count; i++) {
		struct jp_incarnation *incarnation = &incarnations->incarnations[i];
		const struct jp_truth_code *code = incarnation->code;
		uint64_t low = jp_max(start, code->addr),
			 high = jp_min(end, code->addr + code->size);

		if (code->pid != map->pid || code->addr >= end)
			break;
		if (low >= high || incarnation->published_time >= map->time ||
		    map->time >= incarnation->end || incarnation->begin >= incarnation->end)
			continue;
		if (!incarnation->hider.time)
			incarnation->hider = (struct jp_hider){
				.time = map->time,
				.start = start,
				.end = end,
				.file_offset = map->file_offset,
				.name = name,
				.cause = find_cause(incarnations->evidence, map, code)};
		incarnation->low =
			incarnation->low == incarnation->high ? low : jp_min(incarnation->low, low);
		incarnation->high = jp_max(incarnation->high, high);
	}
}
