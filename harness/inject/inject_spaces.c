// SPDX-License-Identifier: GPL-2.0-only
#include "harness/inject/inject_spaces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text_pool.h"
#include "harness/format/perfdata/encode.h"
#include "harness/model/space/mapping_name.h"
#include "harness/model/space/processes.h"
#include "harness/model/space/ranges.h"

/* Values of ranges: nothing that matters, living code, or a mapping by its number. */
enum { NOTHING, CODE, MAPPINGS };

enum { MAP_IS_HUGETLB = 0x40000 };

struct code_space {
	struct jp_process process;
	struct jp_ranges *ranges; /* NULL: of a process that does not matter */
	bool wanted, has_code;
};

struct jp_inject_spaces {
	struct jp_processes processes;
	/* What two records agree on that are of one mapping, grown or seen twice. */
	struct jp_text_pool mappings;
	unsigned char record[JP_PERF_RECORD_MOST];
};

static int renew(struct code_space *space, struct jp_ranges *ranges, bool has_code)
{
	if (!ranges)
		return -ENOMEM;
	jp_ranges_free(space->ranges);
	space->ranges = ranges;
	space->has_code = has_code;
	return 0;
}

static int end(void *context, struct jp_process *process, const struct jp_event *event)
{
	struct code_space *space = (struct code_space *)process;

	return space->ranges ? renew(space, jp_ranges_new(), false) : 0;
}

static int inherit(void *context, struct jp_process *child, struct jp_process *parent,
		   const struct jp_event *event)
{
	const struct code_space *from = (const struct code_space *)parent;
	struct code_space *to = (struct code_space *)child;

	if (!from->ranges || !(from->has_code || to->wanted))
		return 0;
	return renew(to, jp_ranges_share(from->ranges), from->has_code);
}

struct jp_inject_spaces *jp_inject_spaces_new(void)
{
	static const struct jp_process_rules rules = {
		.size = sizeof(struct code_space), .end = end, .inherit = inherit};
	struct jp_inject_spaces *spaces = calloc(1, sizeof(*spaces));

	if (spaces)
		spaces->processes.rules = &rules;
	return spaces;
}

void jp_inject_spaces_free(struct jp_inject_spaces *spaces)
{
	struct code_space *space;

	if (!spaces)
		return;
	for (size_t at = 0;
	     (space = (struct code_space *)jp_processes_next(&spaces->processes, &at));)
		jp_ranges_free(space->ranges);
	jp_processes_free(&spaces->processes);
	jp_text_pool_free(&spaces->mappings);
	free(spaces);
}

static struct code_space *find(struct jp_inject_spaces *spaces, uint32_t pid)
{
	struct code_space *space = (struct code_space *)jp_processes_find(&spaces->processes, pid);

	return space && space->ranges ? space : NULL;
}

static struct code_space *make(struct jp_inject_spaces *spaces, uint32_t pid)
{
	struct code_space *space = (struct code_space *)jp_processes_at(&spaces->processes, pid);

	if (space && !space->ranges)
		space->ranges = jp_ranges_new();
	return space && space->ranges ? space : NULL;
}

int jp_inject_spaces_want(struct jp_inject_spaces *spaces, uint32_t pid)
{
	struct code_space *space = make(spaces, pid);

	if (!space)
		return -ENOMEM;
	space->wanted = true;
	return 0;
}

int jp_inject_spaces_code(struct jp_inject_spaces *spaces, uint32_t pid, uint64_t addr,
			  uint64_t size, bool there)
{
	struct code_space *space = make(spaces, pid);

	if (!space)
		return -ENOMEM;
	if (there) {
		space->has_code = true;
		return jp_ranges_set(&space->ranges, addr, addr + size, CODE);
	}
	/* Only code goes: what else is recorded there stays. */
	for (uint64_t at = addr; at < addr + size;) {
		struct jp_range range = jp_ranges_at(space->ranges, at);
		uint64_t end = range.end < addr + size ? range.end : addr + size;

		if (range.value == CODE && jp_ranges_set(&space->ranges, at, end, NOTHING))
			return -ENOMEM;
		at = end;
	}
	return 0;
}

int jp_inject_spaces_task(struct jp_inject_spaces *spaces, const struct jp_event *event)
{
	/* What perf synthesizes at time 0 tells of tasks, not of memory. */
	if (event->type == JP_EVENT_FORK && !event->time)
		return 0;
	return jp_processes_apply(&spaces->processes, event);
}

bool jp_inject_anonymous(const struct jp_event *event)
{
	return !event->kernel_map && (jp_mapping_backing(event->map.name) != JP_BACKING_FILE ||
				      event->map.flags & MAP_IS_HUGETLB);
}

static struct code_space *space_of(struct jp_inject_spaces *spaces, const struct jp_event *event)
{
	return event->kernel_map ? NULL : find(spaces, event->pid);
}

bool jp_inject_spaces_alive(struct jp_inject_spaces *spaces, uint32_t pid, uint64_t addr,
			    uint64_t size)
{
	const struct code_space *space = find(spaces, pid);

	if (!space || !space->has_code)
		return false;
	for (uint64_t at = addr; at < addr + size;) {
		struct jp_range range = jp_ranges_at(space->ranges, at);

		if (range.value == CODE)
			return true;
		at = range.end;
	}
	return false;
}

/* The number of the mapping that @event is a record of; 0: no memory. */
static uint32_t mapping_of(struct jp_inject_spaces *spaces, const struct jp_event *event)
{
	static const struct jp_perf_layout without_id;
	struct jp_event same = *event;
	const struct jp_text *text;

	/* Whose record it is and how far it reaches does not matter. */
	same.pid = same.tid = 0;
	same.map.pgoff -= same.map.addr;
	same.map.addr = same.map.len = 0;
	text = jp_text_keep(
		&spaces->mappings, spaces->record,
		jp_perf_encode(&without_id, &same, spaces->record, sizeof(spaces->record)));
	return text ? MAPPINGS + (uint32_t)text->number : 0;
}

int jp_inject_spaces_map(struct jp_inject_spaces *spaces, const struct jp_event *event, bool yields)
{
	const uint64_t start = event->map.addr, end = start + event->map.len;
	struct code_space *space = space_of(spaces, event);
	uint32_t number = NOTHING;

	if (!space)
		return 0;
	if (!jp_inject_anonymous(event))
		return jp_ranges_set(&space->ranges, start, end, NOTHING);
	number = mapping_of(spaces, event);
	if (!number)
		return -ENOMEM;
	if (!yields || !space->has_code)
		return jp_ranges_set(&space->ranges, start, end, number);
	for (uint64_t at = start; at < end;) {
		struct jp_range range = jp_ranges_at(space->ranges, at);
		uint64_t to = range.end < end ? range.end : end;

		if (range.value != CODE && range.value != number &&
		    jp_ranges_set(&space->ranges, at, to, number))
			return -ENOMEM;
		at = to;
	}
	return 0;
}

int jp_inject_spaces_piece(struct jp_inject_spaces *spaces, const struct jp_event *event,
			   uint64_t *at, uint64_t *end)
{
	const uint64_t to = event->map.addr + event->map.len;
	struct code_space *space = space_of(spaces, event);
	uint32_t number = mapping_of(spaces, event);
	bool found = false;

	if (!number)
		return -ENOMEM;
	*end = *at;
	while (*end < to) {
		struct jp_range range = jp_ranges_at(space->ranges, *end);
		bool there = range.value == CODE || range.value == number;

		if (there && found)
			break;
		*end = range.end < to ? range.end : to;
		if (there)
			*at = *end;
		else
			found = true;
	}
	return found;
}
