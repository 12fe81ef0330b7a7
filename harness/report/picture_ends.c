// SPDX-License-Identifier: GPL-2.0-only
/* Finds when the mappings of a picture ended, although the kernel records no end of a mapping. */
#include "harness/report/picture_ends.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/boxes.h"
#include "harness/base/order.h"
#include "harness/base/sort.h"

/* Most ends of parts that are compared with a record, so that hostile files take no quadratic
 * time. */
enum { MOST_PARTS = 1000 };

/* The last EXIT record of a process, which may be followed by EXIT records of other threads. */
struct process_exit {
	bool of_main;       /* the main thread has exited */
	uint64_t time;      /* time of the last EXIT record, in ns */
	uint64_t last_used; /* time of the last event in which the process lived, in ns */
};

int jp_picture_boxes_add(struct jp_picture_boxes *boxes, const struct jp_picture_box *box)
{
	return jp_array_append(&boxes->list, &boxes->count, &boxes->capacity, *box);
}

static int add_end(struct jp_picture_ends *ends, uint32_t pid, uint64_t addr, uint64_t len,
		   uint64_t time)
{
	struct jp_picture_end *added =
		time ? jp_array_push(&ends->list, &ends->count, &ends->capacity) : NULL;

	if (time && !added)
		return -ENOMEM;
	if (added)
		*added = (struct jp_picture_end){pid, addr,
						 addr + len < addr ? UINT64_MAX : addr + len, time};
	return 0;
}

static int end_all(struct jp_picture_ends *ends, uint32_t pid, uint64_t time)
{
	return add_end(ends, pid, 0, UINT64_MAX, time);
}

/* Ends all mappings of @pid if its last thread has exited. */
static int end_process(struct jp_picture_ends *ends, uint32_t pid, const struct process_exit *exit)
{
	return exit->of_main && exit->last_used <= exit->time ? end_all(ends, pid, exit->time) : 0;
}

static int begin_process(struct jp_picture_ends *ends, const struct jp_event *event)
{
	struct process_exit *exit = jp_map_find(&ends->exits, event->pid);

	if (exit && end_process(ends, event->pid, exit))
		return -ENOMEM;
	if (exit)
		*exit = (struct process_exit){0};
	return end_all(ends, event->pid, event->time);
}

static struct process_exit *find_exit(struct jp_picture_ends *ends, const struct jp_event *event)
{
	return jp_map_at(&ends->exits, event->pid, sizeof(struct process_exit));
}

int jp_picture_ends_handle(struct jp_picture_ends *ends, const struct jp_event *event)
{
	struct process_exit *exit;

	if (jp_event_starts_process(event))
		return begin_process(ends, event);
	if (event->type == JP_EVENT_EXIT) {
		exit = find_exit(ends, event);
		if (!exit)
			return -ENOMEM;
		exit->of_main |= event->pid == event->tid;
		exit->time = event->time;
	} else if (event->type == JP_EVENT_MAP ||
		   (event->type == JP_EVENT_SAMPLE && event->sample.user)) {
		exit = find_exit(ends, event);
		if (!exit)
			return -ENOMEM;
		exit->last_used = event->time;
	}
	return event->type == JP_EVENT_MAP && !event->kernel_map
		       ? add_end(ends, event->pid, event->map.addr, event->map.len, event->time)
		       : 0;
}

int jp_picture_ends_add_truth(struct jp_picture_ends *ends, const struct jp_truth *truth)
{
	int failed = 0;

	for (size_t i = 0; i < truth->nr_acts && !failed; i++) {
		const struct jp_event *act = &truth->acts[i];

		if (act->type == JP_EVENT_UNMAP ||
		    (act->type == JP_EVENT_REMAP && act->map.new_addr != act->map.addr))
			failed = add_end(ends, act->pid, act->map.addr, act->map.len, act->after);
	}
	ends->of_truth = ends->count;
	return failed;
}

/* Ends record number @i at the time of @end, and adds the parts outside of @end's range again.
 * Returns 0 or -ENOMEM. */
static int cut_record(struct jp_picture_boxes *records, size_t i, const struct jp_picture_end *end)
{
	struct jp_picture_box below = records->list[i], above = below;
	const uint64_t end_time = below.addr + below.size;
	int failed = 0;

	if (below.end_time <= end->time || end_time <= end->addr || end->end <= below.addr)
		return 0;
	records->list[i].end_time = below.start_time = above.start_time = end->time;
	if (below.addr < end->addr) {
		below.size = end->addr - below.addr;
		failed = jp_picture_boxes_add(records, &below);
	}
	if (!failed && end->end < end_time) {
		above.addr = end->end;
		above.size = end_time - end->end;
		failed = jp_picture_boxes_add(records, &above);
	}
	return failed;
}

/* Ends record number @i at the first end that covers it, and cuts off what was unmapped before.
 * Returns 0 or -ENOMEM. */
static int end_record(const struct jp_picture_ends *ends, const struct jp_boxes *boxes,
		      struct jp_picture_boxes *records, size_t i, uint64_t attached)
{
	struct jp_picture_box *record = &records->list[i];
	const uint64_t end_time = record->addr + record->size,
		       from = record->start_time ?: attached;
	const size_t parts = records->count;
	struct jp_box box = {record->addr, end_time, from + 1, UINT64_MAX};
	uint64_t *cuts = NULL;
	size_t nr_cuts = 0, capacity = 0, item;
	unsigned int nr_left = MOST_PARTS;
	int failed = 0;

	for (size_t cursor = 0;
	     !failed && nr_left && jp_boxes_find_next(boxes, record->pid, &box, &cursor, &item);) {
		const struct jp_picture_end *end = &ends->list[item];

		if (end->addr <= record->addr && end_time <= end->end) {
			record->end_time = box.end_time = jp_min(box.end_time, end->time);
			continue;
		}
		nr_left--;
		if (item < ends->of_truth)
			failed = jp_array_append(&cuts, &nr_cuts, &capacity, item);
	}
	/* Ends by the truth are numbered in the order of time. */
	jp_sort(cuts, nr_cuts, jp_compare_by_value);
	for (size_t k = 0; k < nr_cuts && !failed; k++) {
		const struct jp_picture_end *end = &ends->list[cuts[k]];

		failed = cut_record(records, i, end);
		for (size_t part = parts, count = records->count; part < count && !failed; part++)
			failed = cut_record(records, part, end);
	}
	free(cuts);
	return failed;
}

int jp_picture_ends_apply(struct jp_picture_ends *ends, struct jp_picture_boxes *records,
			  uint64_t attached, uint64_t last)
{
	const size_t count = records->count;
	const struct process_exit *exit;
	struct jp_boxes boxes = {0};
	int failed = 0;
	uint64_t pid;

	for (size_t cursor = 0; !failed && (exit = jp_map_next(&ends->exits, &cursor, &pid));)
		failed = end_process(ends, (uint32_t)pid, exit);
	for (size_t i = 0; i < ends->count && !failed; i++) {
		const struct jp_picture_end *end = &ends->list[i];

		if (end->time <= last)
			failed = jp_boxes_add(
				&boxes, end->pid,
				&(struct jp_box){end->addr, end->end, end->time, end->time}, i);
	}
	if (!failed)
		jp_boxes_build(&boxes);
	for (size_t i = 0; i < count && !failed; i++)
		failed = end_record(ends, &boxes, records, i, attached);
	jp_boxes_free(&boxes);
	return failed;
}

void jp_picture_ends_free(struct jp_picture_ends *ends)
{
	free(ends->list);
	jp_map_free(&ends->exits);
}
