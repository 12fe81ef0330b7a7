// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/executable.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/model/oracle/truth.h"
#include "harness/model/space/processes.h"
#include "harness/model/space/ranges.h"

/* The kernel maps and unmaps whole ones, whatever it was asked for. */
enum { PAGE = 4096 };

/* Memory of any protection that a process has now. */
struct piece {
	uint64_t start, end;
	uint64_t moved, memory;
	uint64_t open_before, open_after;
	uint64_t prot;
};
static const struct jp_range_kind pieces = {.size = sizeof(struct piece)};

struct memory_space {
	struct jp_process process;
	struct jp_ranges *pieces;
	uint64_t born_before, born_after;
	uint64_t marked; /* the end of its last mark; 0: it had none yet */
};

struct replay {
	struct jp_executables *all;
	const struct jp_truth *truth;
	struct jp_processes processes;
	struct jp_error *err;
};

static bool is_memory(const struct jp_event *act)
{
	return act->type == JP_EVENT_MAP || act->type == JP_EVENT_PROTECT ||
	       act->type == JP_EVENT_REMAP || act->type == JP_EVENT_UNMAP;
}

/* [@piece->start, @piece->end) was executable, and is no more since @act, or as @act found. */
static int add(struct replay *replay, const struct memory_space *space, const struct piece *piece,
	       const struct jp_event *act, uint64_t before, uint64_t after)
{
	struct jp_executable *added =
		jp_array_push(&replay->all->list, &replay->all->count, &replay->all->capacity);

	if (!added)
		return -ENOMEM;
	*added = (struct jp_executable){.pid = space->process.pid,
					.prot = piece->prot,
					.start = piece->start,
					.end = piece->end,
					.moved = piece->moved,
					.memory = piece->memory,
					.open_before =
						jp_max(piece->open_before, space->born_before),
					.open_after = jp_max(piece->open_after, space->born_after),
					.close_before = before,
					.close_after = after,
					.closed_by = act ? act->type : JP_EVENT_END};
	return 0;
}

/* The part of the next piece of @space that lies in [@start, @end); false: there is none. */
static bool next_piece(const struct memory_space *space, uint64_t start, uint64_t end,
		       struct piece *part)
{
	const struct piece *piece =
		space->pieces && start < end ? jp_ranges_from(space->pieces, start) : NULL;

	if (!piece || piece->start >= end)
		return false;
	*part = *piece;
	part->start = jp_max(piece->start, start);
	part->end = jp_min(piece->end, end);
	return true;
}

static int close(struct replay *replay, struct memory_space *space, uint64_t start, uint64_t end,
		 const struct jp_event *act, uint64_t before, uint64_t after)
{
	struct piece part;
	int failed = 0;

	for (uint64_t at = start; !failed && next_piece(space, at, end, &part); at = part.end)
		if (part.prot & JP_PROT_EXEC)
			failed = add(replay, space, &part, act, before, after);
	return failed;
}

static int put(struct memory_space *space, const struct piece *piece)
{
	if (!space->pieces && !(space->pieces = jp_ranges_of(&pieces)))
		return -ENOMEM;
	return jp_ranges_put(&space->pieces, piece);
}

/* SIZE_MAX: no memory. */
static size_t new_memory(struct replay *replay, const struct jp_event *act)
{
	struct jp_executables *all = replay->all;
	struct jp_memory *memory =
		jp_array_push(&all->memories, &all->nr_memories, &all->memories_capacity);

	if (!memory)
		return SIZE_MAX;
	memory->act = act;
	return all->nr_memories - 1;
}

static int map(struct replay *replay, struct memory_space *space, const struct jp_event *act,
	       size_t memory)
{
	uint64_t end = act->map.addr + act->map.len;

	return close(replay, space, act->map.addr, end, act, act->before, act->after)
		       ?: put(space, &(struct piece){.start = act->map.addr,
						     .end = end,
						     .memory = memory,
						     .open_before = act->before,
						     .open_after = act->after,
						     .prot = act->map.prot});
}

static int protect(struct replay *replay, struct memory_space *space, const struct jp_event *act)
{
	uint64_t end = act->map.addr + act->map.len;
	struct piece part;
	int failed = 0;

	for (uint64_t at = act->map.addr; !failed && next_piece(space, at, end, &part);
	     at = part.end) {
		if (part.prot == act->map.prot)
			continue;
		if (part.prot & JP_PROT_EXEC)
			failed = add(replay, space, &part, act, act->before, act->after);
		part.prot = act->map.prot;
		part.open_before = act->before;
		part.open_after = act->after;
		failed = failed ?: put(space, &part);
	}
	return failed;
}

static int unmap(struct replay *replay, struct memory_space *space, const struct jp_event *act)
{
	uint64_t start = act->map.addr & -(uint64_t)PAGE;
	uint64_t end = (act->map.addr + act->map.len + PAGE - 1) & -(uint64_t)PAGE;

	return close(replay, space, start, end, act, act->before, act->after)
		       ?: space->pieces ? jp_ranges_clear(&space->pieces, start, end)
					: 0;
}

/* What it grew by is of its last piece. */
static int remap(struct replay *replay, struct memory_space *space, const struct jp_event *act)
{
	const uint64_t from = act->map.addr, by = act->map.to - from;
	uint64_t end = from + act->map.len, to_end = act->map.to + act->map.to_len;
	struct jp_ranges *old = space->pieces ? jp_ranges_share(space->pieces) : NULL;
	struct memory_space was = *space;
	struct piece part;
	int failed = close(replay, space, act->map.to, to_end, act, act->before, act->after)
			     ?: unmap(replay, space, act);

	was.pieces = old;
	if (!failed && old)
		failed = jp_ranges_clear(&space->pieces, act->map.to, to_end);
	for (uint64_t at = from; !failed && next_piece(&was, at, end, &part);) {
		at = part.end;
		part.end += by;
		if (at == end || part.end > to_end)
			part.end = to_end;
		part.start += by;
		part.moved += by;
		part.open_before = act->before;
		part.open_after = act->after;
		if (part.start < to_end)
			failed = put(space, &part);
	}
	jp_ranges_free(old);
	return failed;
}

/* A workload unmaps what it mapped, and tells of both. */
static int demand_mapped(const struct replay *replay, const struct memory_space *space,
			 const struct jp_event *act)
{
	struct piece part;

	if (!act->map.len || next_piece(space, act->map.addr, act->map.addr + act->map.len, &part))
		return 0;
	return jp_fail(replay->err, EINVAL,
		       "the truth contradicts itself: pid %u unmaps %" PRIx64 "-%" PRIx64
		       " at %" PRIu64 ", and nothing mapped it",
		       act->pid, act->map.addr, act->map.addr + act->map.len, act->before);
}

static int apply(struct replay *replay, struct memory_space *space, const struct jp_event *act,
		 size_t memory)
{
	switch (act->type) {
	case JP_EVENT_MAP:
		return map(replay, space, act, memory);
	case JP_EVENT_PROTECT:
		return protect(replay, space, act);
	case JP_EVENT_REMAP:
		return remap(replay, space, act);
	default:
		return demand_mapped(replay, space, act) ?: unmap(replay, space, act);
	}
}

/* Processes. */

/* Who ended keeps what it had until its pid is another's: nobody is there to see a difference. */
static int end(void *context, struct jp_process *process, const struct jp_event *event)
{
	struct memory_space *space = (struct memory_space *)process;
	int failed;

	if (event->type == JP_EVENT_END)
		return 0;
	failed = close(context, space, 0, UINT64_MAX, event, event->before, event->after);
	jp_ranges_free(space->pieces);
	space->pieces = NULL;
	space->born_before = event->task.how == JP_HOW_LAUNCH ? 0 : event->before;
	space->born_after = event->after;
	space->marked = 0;
	return failed;
}

static int inherit(void *context, struct jp_process *child, struct jp_process *parent,
		   const struct jp_event *event)
{
	struct replay *replay = context;
	struct jp_executables *all = replay->all;
	struct jp_ranges *had = ((struct memory_space *)parent)->pieces;

	((struct memory_space *)child)->pieces = had ? jp_ranges_share(had) : NULL;
	/* What ceased about the time of the fork the child has, or not, as long as it lives. */
	for (size_t i = 0, count = all->count; i < count; i++) {
		struct jp_executable *added, copy = all->list[i];

		if (copy.pid != parent->pid || copy.close_after < event->before)
			continue;
		copy.pid = child->pid;
		copy.open_before = event->before;
		copy.close_before = 0;
		copy.close_after = UINT64_MAX;
		added = jp_array_push(&all->list, &all->count, &all->capacity);
		if (!added)
			return -ENOMEM;
		*added = copy;
	}
	return 0;
}

static const struct jp_process_rules rules = {
	.size = sizeof(struct memory_space), .end = end, .inherit = inherit};

/* Marks. */

struct touched {
	uint64_t start, end;
};

/* One text, held against the memory of one process. */
struct mark_reading {
	struct replay *replay;
	struct memory_space *space;
	const struct jp_event *mark;
	struct touched *touched;
	size_t count, capacity;
};

static bool shares(const struct memory_space *space, uint32_t pid)
{
	const struct jp_process *one = &space->process;

	do {
		if (one->pid == pid)
			return true;
		one = one->shares;
	} while (one != &space->process);
	return false;
}

/* What the acts touched that happened while the text was read: there it is as it was before, or
 * after. 0 or -ENOMEM. */
static int find_touched(struct mark_reading *reading)
{
	const struct jp_truth *truth = reading->replay->truth;

	for (size_t i = 0; i < truth->nr_acts && truth->acts[i].before <= reading->mark->after;
	     i++) {
		const struct jp_event *act = &truth->acts[i];
		struct touched *touched;

		if (!is_memory(act) || act->after < reading->mark->before ||
		    !shares(reading->space, act->pid))
			continue;
		touched = jp_array_push(&reading->touched, &reading->count, &reading->capacity);
		if (!touched)
			return -ENOMEM;
		*touched = (struct touched){act->map.addr, act->map.addr + act->map.len};
		if (act->type != JP_EVENT_REMAP)
			continue;
		touched = jp_array_push(&reading->touched, &reading->count, &reading->capacity);
		if (!touched)
			return -ENOMEM;
		*touched = (struct touched){act->map.to, act->map.to + act->map.to_len};
	}
	return 0;
}

/* The first of [@start, @end) that no act touched, in *@from, and where that ends. False: there is
 * none. */
static bool quiet(const struct mark_reading *reading, uint64_t start, uint64_t end, uint64_t *from,
		  uint64_t *to)
{
	bool moved = true;

	*from = start;
	while (moved && *from < end) {
		moved = false;
		*to = end;
		for (size_t i = 0; i < reading->count; i++) {
			const struct touched *touched = &reading->touched[i];

			if (touched->start <= *from && *from < touched->end) {
				*from = (touched->end + PAGE - 1) & -(uint64_t)PAGE;
				moved = true;
			} else if (touched->start > *from) {
				*to = jp_min(*to, touched->start);
			}
		}
	}
	return *from < end;
}

static int contradicts(const struct mark_reading *reading, uint64_t start, uint64_t end,
		       const char *what)
{
	return jp_fail(reading->replay->err, EINVAL,
		       "the truth contradicts itself: pid %u, %" PRIx64 "-%" PRIx64 " at %" PRIu64
		       ": %s",
		       reading->space->process.pid, start, end, reading->mark->before, what);
}

/* Whether an act of this very process tells of @part: an act about the time of the fork may have
 * come before or after it. */
static bool is_told(const struct mark_reading *reading, const struct piece *part)
{
	const struct memory_space *space = reading->space;

	return reading->replay->all->memories[part->memory].act &&
	       (part->open_after < space->born_before || part->open_before > space->born_after);
}

/* When what this mark is the first to see came to be or ceased, at the earliest. */
static uint64_t since(const struct memory_space *space)
{
	return jp_max(space->marked, space->born_before);
}

/* [@start, @end) is in no line. */
static int gone(const struct mark_reading *reading, uint64_t start, uint64_t end)
{
	struct memory_space *space = reading->space;
	uint64_t from, to;
	struct piece part;
	int failed = 0;

	for (uint64_t at = start; !failed && next_piece(space, at, end, &part); at = part.end) {
		if (!(part.prot & JP_PROT_EXEC))
			continue;
		if (!quiet(reading, part.start, part.end, &from, &to))
			continue;
		if (from > part.start) {
			part.end = from;
			continue;
		}
		part.end = to;
		if (is_told(reading, &part))
			return contradicts(reading, part.start, part.end,
					   "mapped executable, but not in its maps");
		failed = add(reading->replay, space, &part, reading->mark, since(space),
			     reading->mark->after)
				 ?: jp_ranges_clear(&space->pieces, part.start, part.end);
	}
	return failed;
}

static bool same_file(const struct jp_procmap *one, const struct jp_procmap *other)
{
	return one->maj == other->maj && one->min == other->min && one->ino == other->ino &&
	       one->shared == other->shared;
}

/* What @line says of the bytes of @part, of which none was touched. */
static int learn(const struct mark_reading *reading, const struct piece *part,
		 const struct jp_procmap *line)
{
	struct memory_space *space = reading->space;
	struct jp_executables *all = reading->replay->all;
	struct jp_memory *memory = &all->memories[part->memory];
	uint64_t shift = line->offset - (line->start - part->moved);
	struct piece fresh = *part;

	if (part->prot == line->prot) {
		if (!memory->line || same_file(memory->line, line)) {
			memory->line = line;
			memory->shift = shift;
			return 0;
		}
		if (is_told(reading, part))
			return contradicts(reading, part->start, part->end,
					   "another file in its maps than before");
	} else if (is_told(reading, part)) {
		return contradicts(reading, part->start, part->end,
				   "another protection in its maps");
	}
	/* Something else came there, of which no act told. */
	fresh.prot = line->prot;
	fresh.moved = 0;
	fresh.memory = new_memory(reading->replay, NULL);
	fresh.open_before = since(space);
	fresh.open_after = reading->mark->after;
	if (fresh.memory == SIZE_MAX)
		return -ENOMEM;
	all->memories[fresh.memory].line = line;
	all->memories[fresh.memory].shift = line->offset - line->start;
	return (part->prot & JP_PROT_EXEC ? add(reading->replay, space, part, reading->mark,
						since(space), reading->mark->after)
					  : 0)
		       ?: put(space, &fresh);
}

/* One line: it stands for what is known already, or for what no act told. */
static int see_line(const struct mark_reading *reading, const struct jp_procmap *line)
{
	uint64_t at = line->start, from, to;
	int failed = 0;

	while (!failed && at < line->end) {
		struct piece part;

		if (!quiet(reading, at, line->end, &from, &to))
			return 0;
		if (!next_piece(reading->space, from, to, &part)) {
			part = (struct piece){.start = from, .end = to};
		} else if (part.start > from) {
			part = (struct piece){.start = from, .end = part.start};
		} else {
			failed = learn(reading, &part, line);
			at = part.end;
			continue;
		}
		part.memory = new_memory(reading->replay, NULL);
		if (part.memory == SIZE_MAX)
			return -ENOMEM;
		part.prot = line->prot;
		part.open_before = since(reading->space);
		part.open_after = reading->mark->after;
		reading->replay->all->memories[part.memory].line = line;
		reading->replay->all->memories[part.memory].shift = line->offset - line->start;
		failed = put(reading->space, &part);
		at = part.end;
	}
	return failed;
}

static int see_lines(const struct mark_reading *reading, const struct jp_procmap *lines,
		     size_t count)
{
	uint64_t reached = 0;
	int failed = 0;

	for (size_t i = 0; i < count && !failed; i++) {
		if (!(lines[i].prot & JP_PROT_EXEC))
			continue;
		if (lines[i].start > reached)
			failed = gone(reading, reached, lines[i].start);
		failed = failed ?: see_line(reading, &lines[i]);
		reached = jp_max(reached, lines[i].end);
	}
	return failed ?: gone(reading, reached, UINT64_MAX);
}

static int mark(struct replay *replay, struct memory_space *space, const struct jp_event *event)
{
	struct jp_executables *all = replay->all;
	struct mark_reading reading = {.replay = replay, .space = space, .mark = event};
	struct jp_procmap **text = jp_array_push(&all->texts, &all->nr_texts, &all->texts_capacity);
	struct jp_mark *added = jp_array_push(&all->marks, &all->nr_marks, &all->marks_capacity);
	struct jp_error why;
	size_t count;
	int failed;

	if (!text || !added)
		return -ENOMEM;
	*added = (struct jp_mark){event->pid, event->before, event->after};
	failed = jp_procmaps_parse(event->maps.text, strlen(event->maps.text), text, &count, &why);
	if (failed)
		return jp_fail(replay->err, EINVAL, "truth: a mark of pid %u at %" PRIu64 ": %s",
			       event->pid, event->before, why.text);
	/* Each that shares the space learns it, like an act. */
	failed = find_touched(&reading);
	do {
		failed = failed ?: see_lines(&reading, *text, count);
		reading.space->marked = event->after;
		reading.space = (struct memory_space *)reading.space->process.shares;
	} while (!failed && reading.space != space);
	free(reading.touched);
	return failed;
}

static int follow(struct replay *replay, const struct jp_event *act)
{
	struct memory_space *first, *space;
	size_t memory = 0;
	int failed = 0;

	if (!is_memory(act) && act->type != JP_EVENT_MAPS)
		return jp_processes_apply(&replay->processes, act);
	first = space = (struct memory_space *)jp_processes_at(&replay->processes, act->pid);
	if (!first)
		return -ENOMEM;
	if (act->type == JP_EVENT_MAPS)
		return mark(replay, space, act);
	if (act->type == JP_EVENT_MAP)
		memory = new_memory(replay, act);
	if (memory == SIZE_MAX)
		return -ENOMEM;
	do {
		failed = apply(replay, space, act, memory);
		space = (struct memory_space *)space->process.shares;
	} while (!failed && space != first);
	return failed;
}

static int by_place(const void *left, const void *right)
{
	const struct jp_executable *a = left, *b = right;

	return jp_compare(a->pid, b->pid)
		       ?: jp_compare(a->start, b->start)
		       ?: jp_compare(a->open_before, b->open_before);
}

static int index_all(struct jp_executables *all)
{
	if (!jp_array_reserve(&all->reach, &all->reach_capacity, all->count + 1))
		return -ENOMEM;
	if (all->count)
		qsort(all->list, all->count, sizeof(*all->list), by_place);
	for (size_t i = 0; i < all->count; i++) {
		const struct jp_executable *one = &all->list[i];

		all->reach[i] = i && one[-1].pid == one->pid ? jp_max(all->reach[i - 1], one->end)
							     : one->end;
	}
	return 0;
}

int jp_executables_load(struct jp_executables *all, const struct jp_truth *truth,
			struct jp_error *err)
{
	struct replay replay = {.all = all, .truth = truth, .err = err};
	struct memory_space *space;
	int failed = 0;

	replay.processes.rules = &rules;
	replay.processes.context = &replay;
	for (size_t i = 0; !failed && i < truth->nr_acts; i++)
		failed = follow(&replay, &truth->acts[i]);
	for (size_t at = 0;
	     (space = (struct memory_space *)jp_processes_next(&replay.processes, &at));) {
		failed = failed
				 ?: close(&replay, space, 0, UINT64_MAX, NULL, UINT64_MAX,
					  UINT64_MAX);
		jp_ranges_free(space->pieces);
	}
	jp_processes_free(&replay.processes);
	failed = failed ?: index_all(all);
	if (failed == -ENOMEM)
		jp_fail(err, ENOMEM, "truth: no memory for its mappings");
	return failed;
}

void jp_executables_free(struct jp_executables *all)
{
	for (size_t i = 0; i < all->nr_texts; i++)
		free(all->texts[i]);
	free(all->texts);
	free(all->marks);
	free(all->memories);
	free(all->reach);
	free(all->list);
	*all = (struct jp_executables){0};
}

const struct jp_executable *jp_executables_next(const struct jp_executables *all, uint32_t pid,
						uint64_t start, uint64_t end, size_t *at)
{
	const struct jp_executable *list = all->list;

	/* The reach grows within a process: from the first that reaches beyond @start on. */
	if (*at == SIZE_MAX)
		jp_search(*at, all->count,
			  list[*at].pid != pid ? list[*at].pid < pid : all->reach[*at] <= start);
	for (; *at < all->count && list[*at].pid == pid && list[*at].start < end; (*at)++)
		if (list[*at].end > start)
			return &list[(*at)++];
	return NULL;
}
