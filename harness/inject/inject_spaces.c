// SPDX-License-Identifier: GPL-2.0-only
#include "harness/inject/inject_spaces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/map.h"
#include "harness/base/text_pool.h"
#include "harness/format/perfdata/encode.h"
#include "harness/model/space/ranges.h"
#include "harness/model/space/replay.h"

/* Values of ranges: nothing that matters, living code, or a mapping by its number. */
enum { NOTHING, CODE, MAPPINGS };

enum { MAP_IS_HUGETLB = 0x40000 };

struct space {
	struct jp_ranges *ranges;
	bool wanted, has_code;
};

struct jp_inject_spaces {
	struct jp_map spaces; /* pid -> struct space */
	/* What two records agree on that are of one mapping, grown or seen twice. */
	struct jp_text_pool mappings;
	unsigned char record[JP_PERF_RECORD_MOST];
};

struct jp_inject_spaces *jp_inject_spaces_new(void)
{
	return calloc(1, sizeof(struct jp_inject_spaces));
}

void jp_inject_spaces_free(struct jp_inject_spaces *spaces)
{
	struct space *space;
	size_t at = 0;

	if (!spaces)
		return;
	while ((space = jp_map_next(&spaces->spaces, &at, NULL)))
		jp_ranges_free(space->ranges);
	jp_map_free(&spaces->spaces);
	jp_text_pool_free(&spaces->mappings);
	free(spaces);
}

static struct space *find(const struct jp_inject_spaces *spaces, uint32_t pid)
{
	return jp_map_find(&spaces->spaces, pid);
}

static struct space *make(struct jp_inject_spaces *spaces, uint32_t pid)
{
	struct space *space = jp_map_at(&spaces->spaces, pid, sizeof(*space));

	if (space && !space->ranges)
		space->ranges = jp_ranges_new();
	return space && space->ranges ? space : NULL;
}

int jp_inject_spaces_want(struct jp_inject_spaces *spaces, uint32_t pid)
{
	struct space *space = make(spaces, pid);

	if (!space)
		return -ENOMEM;
	space->wanted = true;
	return 0;
}

int jp_inject_spaces_code(struct jp_inject_spaces *spaces, uint32_t pid, uint64_t addr,
			  uint64_t size, bool there)
{
	struct space *space = make(spaces, pid);

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

static int renew(struct space *space, struct jp_ranges *ranges)
{
	if (!ranges)
		return -ENOMEM;
	jp_ranges_free(space->ranges);
	space->ranges = ranges;
	return 0;
}

int jp_inject_spaces_task(struct jp_inject_spaces *spaces, const struct jp_event *event)
{
	struct space *space = find(spaces, event->pid), *parent;

	if (event->type == JP_EVENT_COMM) {
		if (!event->comm.exec || !space)
			return 0;
		space->has_code = false;
		return renew(space, jp_ranges_new());
	}
	/* A thread shares; what perf synthesizes at time 0 tells of tasks, not of memory. */
	if (event->type != JP_EVENT_FORK || event->pid == event->task.ppid || !event->time)
		return 0;
	parent = find(spaces, event->task.ppid);
	if (parent && (parent->has_code || (space && space->wanted))) {
		const struct space forked = *parent;

		space = make(spaces, event->pid);
		if (!space)
			return -ENOMEM;
		space->has_code = forked.has_code;
		return renew(space, jp_ranges_share(forked.ranges));
	}
	if (!space)
		return 0;
	space->has_code = false;
	return renew(space, jp_ranges_new());
}

bool jp_inject_anonymous(const struct jp_event *event)
{
	return !event->kernel_map && (jp_mapping_backing(event->map.name) != JP_BACKING_FILE ||
				      event->map.flags & MAP_IS_HUGETLB);
}

static struct space *space_of(struct jp_inject_spaces *spaces, const struct jp_event *event)
{
	return event->kernel_map ? NULL : find(spaces, event->pid);
}

bool jp_inject_spaces_alive(struct jp_inject_spaces *spaces, uint32_t pid, uint64_t addr,
			    uint64_t size)
{
	const struct space *space = find(spaces, pid);

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
	struct space *space = space_of(spaces, event);
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
	struct space *space = space_of(spaces, event);
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
