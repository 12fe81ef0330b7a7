// SPDX-License-Identifier: GPL-2.0-only
#include "validators/shown_reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/search.h"

int jp_shown_reading_init(struct jp_shown_reading *reading)
{
	reading->is_found = calloc(reading->shown->count ?: 1, sizeof(*reading->is_found));
	return reading->is_found ? 0 : -ENOMEM;
}

void jp_shown_reading_free(struct jp_shown_reading *reading)
{
	free(reading->is_found);
	jp_map_free(&reading->absent_processes);
}

int jp_shown_reading_find(struct jp_shown_reading *reading, const struct jp_event *event,
			  const struct jp_shown_sample **found)
{
	const struct jp_shown *shown = reading->shown;
	struct jp_shown_absent *process =
		jp_map_at(&reading->absent_processes, event->pid, sizeof(*process));
	size_t index;

	*found = NULL;
	if (!process)
		return -ENOMEM;
	reading->nr_recorded++;
	process->samples++;
	jp_search(index, shown->count, shown->samples[index].time < event->time);
	for (; index < shown->count && shown->samples[index].time == event->time; index++) {
		const struct jp_shown_sample *sample = &shown->samples[index];

		if (reading->is_found[index] || sample->pid != event->pid ||
		    sample->tid != event->tid)
			continue;
		reading->is_found[index] = true;
		*found = sample;
		return 0;
	}
	reading->nr_missing++;
	if (!process->nr_absent++) {
		process->time = event->time;
		process->tid = event->tid;
	}
	return 0;
}

const struct jp_shown_sample *jp_shown_reading_next_invented(const struct jp_shown_reading *reading,
							     size_t *from)
{
	while (*from < reading->shown->count)
		if (!reading->is_found[(*from)++])
			return &reading->shown->samples[*from - 1];
	return NULL;
}

/* Returns the function that was surely at @addr at the time of @event, if it needs a name; else
 * NULL. */
static const struct jp_incarnation *find_function(const struct jp_naming *naming,
						  const struct jp_event *event, uint64_t addr)
{
	const uint64_t slack = naming->view->evidence->info.slack;
	const struct jp_incarnation *incarnation =
		jp_incarnations_find_at(naming->incarnations, event->pid, addr, event->time);

	if (!incarnation || incarnation->code->in_file ||
	    event->time <= incarnation->code->ready + slack ||
	    (incarnation->code->ending != UINT64_MAX &&
	     event->time + slack >= incarnation->code->ending))
		return NULL;
	return incarnation;
}

/* Returns the cause id for a shown @name that is not the name of @code. */
static const char *find_cause(const struct jp_naming *naming, const struct jp_truth_code *code,
			      const char *name, uint64_t time)
{
	const struct jp_incarnations *incarnations = naming->incarnations;
	const struct jp_truth_code *next = NULL;
	bool is_known = false;

	for (size_t i = 0; i < incarnations->count; i++) {
		const struct jp_truth_code *one = incarnations->incarnations[i].code;

		is_known |= strcmp(one->name, name) == 0;
		if (!next && one->pid == code->pid && one->addr > code->addr &&
		    one->ready <= time && time <= one->unloaded)
			next = one;
	}
	if (next && strcmp(next->name, name) == 0)
		return "next-function";
	return is_known ? "other-function" : "other-name";
}

/* Returns whether both names are equal, or both are missing. */
static bool is_same_name(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : !a && !b;
}

/* Returns whether perf's rules give the shown name to the return address, which follows @addr. Some
 * readers look up the return address, others the address before it. */
static bool is_of_return_address(const struct jp_naming *naming, const struct jp_event *event,
				 const struct jp_shown_frame *frame, uint64_t addr)
{
	const struct jp_mapping *mapping =
		jp_replay_find(naming->view->spaces, event->pid, addr + 1);

	return is_same_name(frame->name, jp_names_find(naming->names, mapping, addr + 1).text);
}

static bool has_offset(const struct jp_shown_frame *frame, uint64_t offset, bool is_caller)
{
	return frame->offset == UINT64_MAX || frame->offset == offset ||
	       (is_caller && frame->offset == offset + 1);
}

const char *jp_shown_name_cause(const struct jp_naming *naming, const struct jp_event *event,
				const struct jp_shown_frame *frame, uint64_t addr, bool caller,
				bool *judged)
{
	const struct jp_incarnation *incarnation = find_function(naming, event, addr);
	const struct jp_truth_code *code;
	struct jp_code_name ours;

	if (!incarnation)
		return NULL;
	*judged = true;
	code = incarnation->code;
	ours = jp_code_name_at(naming, incarnation, addr);
	if (frame->name && strcmp(frame->name, code->name) == 0) {
		/* Readers take the vDSO's symbols from their own memory, not from the capture. */
		if (ours.class != JP_NAME_RIGHT && !(code->frames && code->frames->vdso) &&
		    !(caller && is_of_return_address(naming, event, frame, addr)))
			return "ours-lacks";
		return has_offset(frame, addr - code->addr, caller) ? NULL : "other-offset";
	}
	if (is_same_name(frame->name, ours.recorded))
		return NULL;
	if (caller && is_of_return_address(naming, event, frame, addr))
		return NULL;
	return frame->name ? find_cause(naming, code, frame->name, event->time) : "no-name";
}

struct overlap_search {
	const struct jp_perf_map *map;
	const char *name;
	bool found;
};

static void search_line(void *context, uint64_t start, uint64_t size, const char *name)
{
	struct overlap_search *search = context;

	search->found |= strcmp(name, search->name) == 0 &&
			 (jp_perf_map_is_ambiguous(search->map, start) ||
			  jp_perf_map_count_lines(search->map, start, start + size) > 1);
}

bool jp_shown_name_overlaps(const struct jp_naming *naming, uint32_t pid, const char *name)
{
	struct overlap_search search = {.map = jp_names_map(naming->names, pid, NULL),
					.name = name};

	if (search.map)
		jp_perf_map_visit_lines(search.map, search_line, &search);
	return search.found;
}
