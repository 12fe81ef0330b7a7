// SPDX-License-Identifier: GPL-2.0-only
#include "harness/inject/inject_spaces.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/order.h"
#include "harness/base/text_pool.h"
#include "harness/format/perfdata/encode.h"
#include "harness/model/space/mapping_name.h"
#include "harness/model/space/processes.h"
#include "harness/model/space/ranges.h"

enum { MAP_IS_HUGETLB = 0x40000 };

/* Mappings and code are separate layers, so that a mapping record over a range with much code costs
 * time only for the ranges that it changes. */
struct code_space {
	struct jp_process process;
	struct jp_ranges *mappings; /* range -> number_mapping() of its last record; NULL: the
				       process has no code */
	struct jp_ranges *code;     /* code that is loaded now; NULL: none was ever loaded */
	bool is_wanted;
};

struct jp_inject_spaces {
	struct jp_processes processes;
	struct jp_text_pool mappings; /* records of the same mapping have the same key */
	unsigned char record[JP_PERF_RECORD_MOST];
};

static void free_ranges(struct code_space *space)
{
	jp_ranges_free(space->mappings);
	jp_ranges_free(space->code);
	space->mappings = space->code = NULL;
}

static int end_process(void *context, struct jp_process *process, const struct jp_event *event)
{
	struct code_space *space = (struct code_space *)process;

	if (!space->mappings)
		return 0;
	free_ranges(space);
	space->mappings = jp_ranges_new();
	return space->mappings ? 0 : -ENOMEM;
}

static int inherit_space(void *context, struct jp_process *child, struct jp_process *parent,
			 const struct jp_event *event)
{
	const struct code_space *parent_space = (const struct code_space *)parent;
	struct code_space *space = (struct code_space *)child;

	if (!parent_space->mappings || !(parent_space->code || space->is_wanted))
		return 0;
	free_ranges(space);
	space->mappings = jp_ranges_share(parent_space->mappings);
	space->code = parent_space->code ? jp_ranges_share(parent_space->code) : NULL;
	return 0;
}

struct jp_inject_spaces *jp_inject_spaces_new(void)
{
	static const struct jp_process_rules rules = {
		.size = sizeof(struct code_space), .end = end_process, .inherit = inherit_space};
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
	for (size_t cursor = 0;
	     (space = (struct code_space *)jp_processes_next(&spaces->processes, &cursor));)
		free_ranges(space);
	jp_processes_free(&spaces->processes);
	jp_text_pool_free(&spaces->mappings);
	free(spaces);
}

static struct code_space *find_space(struct jp_inject_spaces *spaces, uint32_t pid)
{
	struct code_space *space = (struct code_space *)jp_processes_find(&spaces->processes, pid);

	return space && space->mappings ? space : NULL;
}

static struct code_space *make_space(struct jp_inject_spaces *spaces, uint32_t pid)
{
	struct code_space *space = (struct code_space *)jp_processes_at(&spaces->processes, pid);

	if (space && !space->mappings)
		space->mappings = jp_ranges_new();
	return space && space->mappings ? space : NULL;
}

int jp_inject_spaces_want(struct jp_inject_spaces *spaces, uint32_t pid)
{
	struct code_space *space = make_space(spaces, pid);

	if (!space)
		return -ENOMEM;
	space->is_wanted = true;
	return 0;
}

int jp_inject_spaces_code(struct jp_inject_spaces *spaces, uint32_t pid, uint64_t addr,
			  uint64_t size, bool exists)
{
	struct code_space *space = make_space(spaces, pid);
	const uint64_t end = addr + size;
	const struct jp_range *range;

	if (!space || (!space->code && !(space->code = jp_ranges_new())))
		return -ENOMEM;
	if (exists)
		return jp_ranges_set(&space->code, addr, end, true);
	/* Clear only the mappings in the ranges with code, not those between them. */
	for (range = jp_ranges_find_at_or_above(space->code, addr); range && range->start < end;
	     range = jp_ranges_find_at_or_above(space->code, range->end))
		if (jp_ranges_clear(&space->mappings, jp_max(range->start, addr),
				    jp_min(range->end, end)))
			return -ENOMEM;
	return jp_ranges_clear(&space->code, addr, end);
}

int jp_inject_spaces_task(struct jp_inject_spaces *spaces, const struct jp_event *event)
{
	/* perf synthesizes a FORK at time 0 for a process that exists already: no memory is
	 * copied. */
	if (event->type == JP_EVENT_FORK && !event->time)
		return 0;
	return jp_processes_apply(&spaces->processes, event);
}

bool jp_inject_is_anonymous(const struct jp_event *event)
{
	return !event->kernel_map && (jp_mapping_backing(event->map.name) != JP_BACKING_FILE ||
				      event->map.flags & MAP_IS_HUGETLB);
}

static struct code_space *find_event_space(struct jp_inject_spaces *spaces,
					   const struct jp_event *event)
{
	return event->kernel_map ? NULL : find_space(spaces, event->pid);
}

bool jp_inject_spaces_alive(struct jp_inject_spaces *spaces, uint32_t pid, uint64_t addr,
			    uint64_t size)
{
	const struct code_space *space = find_space(spaces, pid);
	const struct jp_range *range =
		space && space->code ? jp_ranges_find_at_or_above(space->code, addr) : NULL;

	return addr < addr + size && range && range->start < addr + size;
}

/* Returns the number of the mapping that @event records, equal for all records of one mapping, or 0
 * without memory. */
static uint32_t number_mapping(struct jp_inject_spaces *spaces, const struct jp_event *event)
{
	static const struct jp_perf_layout without_id;
	struct jp_event unnumbered = *event;
	const struct jp_text *text;

	/* Records of one mapping may differ in pid, tid, address and length. */
	unnumbered.pid = unnumbered.tid = 0;
	unnumbered.map.pgoff -= unnumbered.map.addr;
	unnumbered.map.addr = unnumbered.map.len = 0;
	text = jp_text_keep(
		&spaces->mappings, spaces->record,
		jp_perf_encode(&without_id, &unnumbered, spaces->record, sizeof(spaces->record)));
	return text ? 1 + (uint32_t)text->number : 0;
}

int jp_inject_spaces_map(struct jp_inject_spaces *spaces, const struct jp_event *event, bool yields)
{
	const uint64_t start = event->map.addr, end = start + event->map.len;
	const bool is_anonymous = jp_inject_is_anonymous(event);
	struct code_space *space = find_event_space(spaces, event);
	uint32_t number = 0;

	if (!space)
		return 0;
	if (is_anonymous && !(number = number_mapping(spaces, event)))
		return -ENOMEM;
	if (space->code && !(is_anonymous && yields) && jp_ranges_clear(&space->code, start, end))
		return -ENOMEM;
	return jp_ranges_set(&space->mappings, start, end, number);
}

/* Returns whether a record of @mapping changes nothing at address @addr, because the mapping is
 * recorded there already or because code is loaded there. Stores in *@end where the result may
 * change. */
static bool is_unchanged(const struct code_space *space, uint32_t mapping, uint64_t addr,
			 uint64_t *end)
{
	const struct jp_range recorded_range = jp_ranges_at(space->mappings, addr);
	const struct jp_range code = jp_ranges_at(space->code, addr);

	if (recorded_range.value == mapping || code.value)
		*end = recorded_range.value == mapping ? recorded_range.end : code.end;
	else
		*end = jp_min(recorded_range.end, code.end);
	return recorded_range.value == mapping || code.value;
}

int jp_inject_spaces_piece(struct jp_inject_spaces *spaces, const struct jp_event *event,
			   struct jp_inject_piece *piece)
{
	const uint64_t to = event->map.addr + event->map.len;
	const struct code_space *space = find_event_space(spaces, event);
	uint64_t addr = piece->mapping ? piece->end : event->map.addr, end;

	if (!piece->mapping && !(piece->mapping = number_mapping(spaces, event)))
		return -ENOMEM;
	while (addr < to && is_unchanged(space, piece->mapping, addr, &end))
		addr = end;
	if (addr >= to)
		return 0;
	piece->start = addr;
	do
		addr = jp_min(end, to);
	while (addr < to && !is_unchanged(space, piece->mapping, addr, &end));
	piece->end = addr;
	return 1;
}
