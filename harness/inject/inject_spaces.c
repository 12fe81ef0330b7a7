// SPDX-License-Identifier: GPL-2.0-only
#include "harness/inject/inject_spaces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/format/perfdata/format.h"
#include "harness/model/space/ranges.h"
#include "harness/model/space/replay.h"

/* Values of ranges: nothing that matters, living code, or a mapping by its number. */
enum { NOTHING, CODE, MAPPINGS };

enum {
	BUCKETS = 1024,
	AFTER_PGOFF = 40, /* identity, prot, flags and name in MMAP2; the name in MMAP */
	MAP_IS_HUGETLB = 0x40000,
};

struct space {
	struct space *next;
	uint32_t pid;
	bool wanted, has_code;
	struct jp_ranges *ranges;
};

/* What two records agree on that are of one mapping, grown or seen twice. */
struct mapping {
	struct mapping *next;
	uint32_t number;
	uint32_t type, misc;
	uint64_t delta; /* pgoff - addr */
	size_t size;
	unsigned char rest[]; /* of the record, from AFTER_PGOFF up to the trailer */
};

struct jp_inject_spaces {
	struct space *spaces[BUCKETS];
	struct mapping *mappings[BUCKETS];
	uint32_t nr_mappings;
};

struct jp_inject_spaces *jp_inject_spaces_new(void)
{
	return calloc(1, sizeof(struct jp_inject_spaces));
}

void jp_inject_spaces_free(struct jp_inject_spaces *spaces)
{
	for (size_t i = 0; spaces && i < BUCKETS; i++) {
		for (struct space *space = spaces->spaces[i], *next; space; space = next) {
			next = space->next;
			jp_ranges_free(space->ranges);
			free(space);
		}
		for (struct mapping *mapping = spaces->mappings[i], *next; mapping;
		     mapping = next) {
			next = mapping->next;
			free(mapping);
		}
	}
	free(spaces);
}

static struct space *find(const struct jp_inject_spaces *spaces, uint32_t pid)
{
	struct space *space = spaces->spaces[pid % BUCKETS];

	while (space && space->pid != pid)
		space = space->next;
	return space;
}

static struct space *make(struct jp_inject_spaces *spaces, uint32_t pid)
{
	struct space *space = find(spaces, pid);

	if (space)
		return space;
	space = calloc(1, sizeof(*space));
	if (!space)
		return NULL;
	space->ranges = jp_ranges_new();
	if (!space->ranges) {
		free(space);
		return NULL;
	}
	space->pid = pid;
	space->next = spaces->spaces[pid % BUCKETS];
	spaces->spaces[pid % BUCKETS] = space;
	return space;
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
		space = make(spaces, event->pid);
		if (!space)
			return -ENOMEM;
		space->has_code = parent->has_code;
		return renew(space, jp_ranges_share(parent->ranges));
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
static uint32_t mapping_of(struct jp_inject_spaces *spaces, const struct jp_event *event,
			   uint16_t trailer)
{
	const struct jp_perf_record *record = event->record;
	const unsigned char *rest = (const unsigned char *)record + AFTER_PGOFF;
	const uint64_t delta = event->map.pgoff - event->map.addr;
	size_t size = record->size - AFTER_PGOFF - trailer;
	uint64_t hash = delta;
	struct mapping *mapping;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ rest[i]) * UINT64_C(0x100000001b3);
	hash = (hash ^ hash >> 32) % BUCKETS;
	for (mapping = spaces->mappings[hash]; mapping; mapping = mapping->next)
		if (mapping->delta == delta && mapping->type == record->type &&
		    mapping->misc == record->misc && mapping->size == size &&
		    memcmp(mapping->rest, rest, size) == 0)
			return mapping->number;
	mapping = malloc(sizeof(*mapping) + size);
	if (!mapping)
		return 0;
	*mapping = (struct mapping){.next = spaces->mappings[hash],
				    .number = MAPPINGS + spaces->nr_mappings++,
				    .type = record->type,
				    .misc = record->misc,
				    .delta = delta,
				    .size = size};
	memcpy(mapping->rest, rest, size);
	spaces->mappings[hash] = mapping;
	return mapping->number;
}

int jp_inject_spaces_map(struct jp_inject_spaces *spaces, const struct jp_event *event,
			 uint16_t trailer, bool yields)
{
	const uint64_t start = event->map.addr, end = start + event->map.len;
	struct space *space = space_of(spaces, event);
	uint32_t number = NOTHING;

	if (!space)
		return 0;
	if (!jp_inject_anonymous(event))
		return jp_ranges_set(&space->ranges, start, end, NOTHING);
	number = mapping_of(spaces, event, trailer);
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
			   uint16_t trailer, uint64_t *at, uint64_t *end)
{
	const uint64_t to = event->map.addr + event->map.len;
	struct space *space = space_of(spaces, event);
	uint32_t number = mapping_of(spaces, event, trailer);
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
