// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/space/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/order.h"
#include "harness/base/text_pool.h"
#include "harness/model/space/mapping_name.h"
#include "harness/model/space/processes.h"
#include "harness/model/space/ranges.h"

struct mapped_space {
	struct jp_process process;
	struct jp_ranges *ranges; /* struct jp_mapping; NULL: none yet */
	/* Mappings from before the last exec, which perf still finds; NULL: none. */
	struct jp_ranges *older;
	struct jp_mapping *last; /* mapping that was found last, or NULL */
	uint64_t generation;
	uint64_t event, previous; /* @generation: number of the last event that changed the space;
				   @previous: the generation before that event */
	struct jp_extent change;  /* range that the last event changed */
	char comm[64];            /* 16 in the kernel; up to 64 for a kworker in /proc/PID/comm */
};

struct jp_replay {
	struct jp_processes processes;
	struct jp_text_pool texts;       /* names and build ids, which are few and repeat */
	const struct jp_text *last_text; /* text that was added or found last */
	uint64_t generations, events;
};

static int end_process(void *context, struct jp_process *process, const struct jp_event *event);
static int inherit_mappings(void *context, struct jp_process *child, struct jp_process *parent,
			    const struct jp_event *event);

static const struct jp_process_rules rules = {
	.size = sizeof(struct mapped_space), .end = end_process, .inherit = inherit_mappings};

struct jp_replay *jp_replay_new(void)
{
	struct jp_replay *replay = calloc(1, sizeof(*replay));

	if (replay) {
		replay->processes.rules = &rules;
		replay->processes.context = replay;
	}
	return replay;
}

void jp_replay_free(struct jp_replay *replay)
{
	struct mapped_space *space;

	if (!replay)
		return;
	for (size_t cursor = 0;
	     (space = (struct mapped_space *)jp_processes_next(&replay->processes, &cursor));) {
		jp_ranges_free(space->ranges);
		jp_ranges_free(space->older);
	}
	jp_processes_free(&replay->processes);
	jp_text_pool_free(&replay->texts);
	free(replay);
}

/* Returns the only copy of the @size bytes @bytes, followed by a NUL, or NULL if there is no
 * memory. */
static const char *intern_bytes(struct jp_replay *replay, const void *bytes, size_t size)
{
	const struct jp_text *text = replay->last_text;

	/* Consecutive records often have the same text. */
	if (!text || text->size != size || memcmp(text->bytes, bytes, size) != 0)
		text = replay->last_text = jp_text_keep(&replay->texts, bytes, size);
	return text ? text->bytes : NULL;
}

const char *jp_replay_text(struct jp_replay *replay, const char *text)
{
	return intern_bytes(replay, text, strlen(text));
}

static struct mapped_space *find_space(const struct jp_replay *replay, uint32_t pid)
{
	/* The cast is safe: a lookup changes only the cache of the last process. */
	return (struct mapped_space *)jp_processes_find((struct jp_processes *)&replay->processes,
							pid);
}

static struct mapped_space *make_space(struct jp_replay *replay, uint32_t pid)
{
	struct mapped_space *space =
		(struct mapped_space *)jp_processes_at(&replay->processes, pid);

	if (space && !space->generation)
		space->generation = ++replay->generations;
	return space;
}

static void note_change(struct jp_replay *replay, struct mapped_space *space, uint64_t start,
			uint64_t end)
{
	if (space->event != replay->events) {
		space->event = replay->events;
		space->previous = space->generation;
		space->change = (struct jp_extent){start, end};
	}
	space->change.start = jp_min(space->change.start, start);
	space->change.end = jp_max(space->change.end, end);
	space->generation = ++replay->generations;
	space->last = NULL;
}

/* Adjusts the file offset of a mapping after its first @size bytes were cut off. */
static void skip_mapping_start(void *range, uint64_t size)
{
	struct jp_mapping *mapping = range;

	mapping->pgoff += size;
}

static const struct jp_range_kind mappings = {.size = sizeof(struct jp_mapping),
					      .advance = skip_mapping_start};

/* Returns whether two inode generations may be of one file. An inode number is reused after its
 * file is removed. */
static bool do_generations_agree(uint64_t a, uint64_t b)
{
	return !a || !b || a == b;
}

/* Returns whether @mapping describes the same mapping as @recorded: one record may be synthesized
 * and the other live. The mapping then counts from the first record on. */
static bool is_same_mapping(const struct jp_mapping *recorded, const struct jp_mapping *mapping)
{
	return recorded->start == mapping->start && recorded->end == mapping->end &&
	       recorded->pgoff == mapping->pgoff && recorded->ino == mapping->ino &&
	       recorded->name == mapping->name && recorded->maj == mapping->maj &&
	       recorded->min == mapping->min && recorded->prot == mapping->prot &&
	       recorded->code == mapping->code &&
	       do_generations_agree(recorded->gen, mapping->gen) &&
	       jp_mapping_build_ids_agree(recorded, mapping);
}

/* Adds to the known mapping @joined the facts that only @mapping contains. Returns 0 or -ENOMEM. */
static int join_mapping(struct jp_replay *replay, struct mapped_space *space,
			struct jp_mapping *joined, const struct jp_mapping *mapping)
{
	if (joined->pid == mapping->pid && (joined->gen || !mapping->gen) &&
	    (!mapping->build_id || joined->build_id == mapping->build_id))
		return 0;
	space->last = joined = jp_ranges_own(&space->ranges, mapping->start);
	if (!joined)
		return -ENOMEM;
	joined->pid = mapping->pid;
	/* The generation may also show that the inode belongs to another file now: drop the cached
	 * file. */
	if (!joined->gen && mapping->gen) {
		joined->gen = mapping->gen;
		joined->file = NULL;
		note_change(replay, space, joined->start, joined->end);
	}
	if (mapping->build_id) {
		joined->build_id = mapping->build_id;
		joined->build_id_size = mapping->build_id_size;
	}
	return 0;
}

static int apply_map_to(struct jp_replay *replay, uint32_t pid, const struct jp_event *event)
{
	struct jp_mapping mapping = {
		.start = event->map.addr,
		.end = event->map.addr + event->map.len,
		.pgoff = event->map.pgoff,
		.since = event->time,
		.pid = pid,
		.record_offset = event->file_offset,
		.prot = event->map.prot & 7,
		.code = jp_mapping_holds_code(event),
		.flags = event->map.flags,
	};
	struct jp_mapping *joined;
	struct mapped_space *space;

	if (event->kernel_map || mapping.end <= mapping.start)
		return 0;
	space = make_space(replay, pid);
	mapping.name = intern_bytes(replay, event->map.name, strlen(event->map.name));
	if (!space || !mapping.name)
		return -ENOMEM;
	if (event->map.has_identity) {
		mapping.maj = event->map.maj;
		mapping.min = event->map.min;
		mapping.ino = event->map.ino;
		mapping.gen = event->map.gen;
	}
	if (event->map.build_id && event->map.build_id_size <= 20) {
		mapping.build_id = (const unsigned char *)intern_bytes(replay, event->map.build_id,
								       event->map.build_id_size);
		if (!mapping.build_id)
			return -ENOMEM;
		mapping.build_id_size = event->map.build_id_size;
	}
	joined = jp_replay_find(replay, pid, mapping.start);
	if (joined && is_same_mapping(joined, &mapping))
		return join_mapping(replay, space, joined, &mapping);
	if (!space->ranges && !(space->ranges = jp_ranges_new_of_kind(&mappings)))
		return -ENOMEM;
	mapping.backing = jp_mapping_backing(mapping.name);
	note_change(replay, space, mapping.start, mapping.end);
	return jp_ranges_put(&space->ranges, &mapping);
}

static int apply_map(struct jp_replay *replay, const struct jp_event *event)
{
	uint32_t pid = event->pid;
	int failed;

	do {
		failed = apply_map_to(replay, pid, event);
		pid = jp_replay_sharing(replay, pid);
	} while (!failed && pid != event->pid);
	return failed;
}

/* Before an exec: merges the mappings of @space into @older, where they replace what they cover. */
static int keep_mappings_before_exec(struct mapped_space *space)
{
	struct jp_ranges *older = space->older;
	int failed = 0;

	if (!older) {
		space->older = space->ranges;
		space->ranges = NULL;
		return 0;
	}
	for (struct jp_mapping *mapping = jp_ranges_find_at_or_above(space->ranges, 0);
	     mapping && !failed;
	     mapping = mapping->end ? jp_ranges_find_at_or_above(space->ranges, mapping->end)
				    : NULL)
		failed = jp_ranges_put(&space->older, mapping);
	return failed;
}

static int end_process(void *context, struct jp_process *process, const struct jp_event *event)
{
	struct mapped_space *space = (struct mapped_space *)process;
	int failed = 0;

	if (event->type == JP_EVENT_COMM && space->ranges) {
		failed = keep_mappings_before_exec(space);
	} else if (event->type == JP_EVENT_FORK) {
		jp_ranges_free(space->older);
		space->older = NULL;
	}
	jp_ranges_free(space->ranges);
	space->ranges = NULL;
	note_change(context, space, 0, UINT64_MAX);
	return failed;
}

static int inherit_mappings(void *context, struct jp_process *process,
			    struct jp_process *parent_process, const struct jp_event *event)
{
	struct mapped_space *child = (struct mapped_space *)process,
			    *parent = (struct mapped_space *)parent_process;

	memcpy(child->comm, parent->comm, sizeof(child->comm));
	if (parent->ranges && !event->task.was_running)
		child->ranges = jp_ranges_share(parent->ranges);
	if (parent->older && !event->task.was_running)
		child->older = jp_ranges_share(parent->older);
	return 0;
}

static int apply_comm(struct jp_replay *replay, const struct jp_event *event)
{
	struct mapped_space *space = make_space(replay, event->pid);

	if (!space)
		return -ENOMEM;
	if (event->pid == event->tid || event->comm.exec) {
		strncpy(space->comm, event->comm.name, sizeof(space->comm) - 1);
		space->comm[sizeof(space->comm) - 1] = 0;
	}
	return jp_processes_apply(&replay->processes, event);
}

static int apply_fork(struct jp_replay *replay, const struct jp_event *event)
{
	const struct mapped_space *child = find_space(replay, event->pid);

	/* perf synthesizes a FORK at time 0 for each existing task. The records of the task's maps
	 * may precede it in the file and are more reliable than a copy of the parent's. */
	if (event->time == 0 && child && child->ranges &&
	    jp_ranges_find_at_or_above(child->ranges, 0))
		return 0;
	return jp_processes_apply(&replay->processes, event);
}

static int apply_protect(struct jp_replay *replay, const struct jp_event *event)
{
	uint64_t end = event->map.addr + event->map.len, next;

	for (uint64_t addr = event->map.addr; addr < end; addr = next) {
		const struct jp_mapping *old_mapping =
			jp_replay_find_at_or_above(replay, event->pid, addr);
		struct jp_event part_event = *event;
		int failed;

		if (!old_mapping || old_mapping->start >= end)
			break;
		addr = jp_max(addr, old_mapping->start);
		next = old_mapping->end < end ? old_mapping->end : end;
		part_event.map.addr = addr;
		part_event.map.len = next - addr;
		part_event.map.pgoff = old_mapping->pgoff + (addr - old_mapping->start);
		part_event.map.name = old_mapping->name;
		failed = apply_map(replay, &part_event);
		if (failed)
			return failed;
	}
	return 0;
}

static int apply_remap(struct jp_replay *replay, const struct jp_event *event)
{
	const struct jp_mapping *old_mapping = jp_replay_find(replay, event->pid, event->map.addr);
	struct jp_event part_event = *event;

	if (!old_mapping)
		return 0;
	part_event.map.addr = event->map.new_addr;
	part_event.map.len = event->map.new_len;
	part_event.map.pgoff = old_mapping->pgoff + (event->map.addr - old_mapping->start);
	part_event.map.prot = old_mapping->prot;
	part_event.map.name = old_mapping->name;
	return jp_replay_unmap(replay, event->pid, event->map.addr, event->map.len)
		       ?: apply_map(replay, &part_event);
}

int jp_replay_apply(struct jp_replay *replay, const struct jp_event *event)
{
	replay->events++;
	switch (event->type) {
	case JP_EVENT_MAP:
		return apply_map(replay, event);
	case JP_EVENT_PROTECT:
		return apply_protect(replay, event);
	case JP_EVENT_REMAP:
		return apply_remap(replay, event);
	case JP_EVENT_UNMAP:
		return jp_replay_unmap(replay, event->pid, event->map.addr, event->map.len);
	case JP_EVENT_COMM:
		return apply_comm(replay, event);
	case JP_EVENT_FORK:
		return apply_fork(replay, event);
	default: /* keep the space at an EXIT: other threads may outlive the main thread */
		return jp_processes_apply(&replay->processes, event);
	}
}

int jp_replay_unmap(struct jp_replay *replay, uint32_t pid, uint64_t addr, uint64_t len)
{
	struct mapped_space *first = find_space(replay, pid), *space = first;

	if (!space || addr + len <= addr)
		return 0;
	do {
		note_change(replay, space, addr, addr + len);
		if (space->ranges && jp_ranges_clear(&space->ranges, addr, addr + len))
			return -ENOMEM;
		space = (struct mapped_space *)space->process.shares;
	} while (space != first);
	return 0;
}

uint32_t jp_replay_sharing(const struct jp_replay *replay, uint32_t pid)
{
	const struct mapped_space *space = find_space(replay, pid);

	return space ? space->process.shares->pid : pid;
}

struct jp_mapping *jp_replay_find_at_or_above(struct jp_replay *replay, uint32_t pid, uint64_t addr)
{
	const struct mapped_space *space = find_space(replay, pid);

	return space && space->ranges ? jp_ranges_find_at_or_above(space->ranges, addr) : NULL;
}

struct jp_mapping *jp_replay_find_below(struct jp_replay *replay, uint32_t pid, uint64_t addr)
{
	const struct mapped_space *space = find_space(replay, pid);

	return space && space->ranges ? jp_ranges_find_below(space->ranges, addr) : NULL;
}

struct jp_mapping *jp_replay_find(struct jp_replay *replay, uint32_t pid, uint64_t addr)
{
	struct mapped_space *space = find_space(replay, pid);
	struct jp_mapping *mapping = space ? space->last : NULL;

	if (!space || !space->ranges)
		return NULL;
	if (mapping && addr >= mapping->start && addr < mapping->end)
		return mapping;
	mapping = jp_ranges_find_at_or_above(space->ranges, addr);
	if (!mapping || addr < mapping->start)
		return NULL;
	return space->last = mapping;
}

const struct jp_mapping *jp_replay_find_as_perf(struct jp_replay *replay, uint32_t pid,
						uint64_t addr)
{
	const struct jp_mapping *mapping = jp_replay_find(replay, pid, addr);
	const struct mapped_space *space = find_space(replay, pid);

	if (mapping || !space || !space->older)
		return mapping;
	mapping = jp_ranges_find_at_or_above(space->older, addr);
	return mapping && mapping->start <= addr ? mapping : NULL;
}

const char *jp_replay_comm(const struct jp_replay *replay, uint32_t pid)
{
	const struct mapped_space *space = find_space(replay, pid);

	return space ? space->comm : "";
}

uint64_t jp_replay_generation(const struct jp_replay *replay, uint32_t pid)
{
	const struct mapped_space *space = find_space(replay, pid);

	return space ? space->generation : 0;
}

struct jp_extent jp_replay_get_changed_range(const struct jp_replay *replay, uint32_t pid,
					     uint64_t generation)
{
	const struct mapped_space *space = find_space(replay, pid);

	if (!space || space->generation == generation)
		return (struct jp_extent){0, 0};
	return space->previous == generation ? space->change : (struct jp_extent){0, UINT64_MAX};
}
