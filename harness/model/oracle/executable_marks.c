// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/executable_marks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/model/oracle/truth.h"

/* What lies above cannot be rounded up. */
#define LAST_PAGE (-(uint64_t)JP_MEMORY_PAGE)

struct touched {
	uint64_t start, end;
};

/* One text, held against the memory of one process. */
struct mark_reading {
	struct jp_memory_replay *replay;
	struct jp_memory_space *space;
	const struct jp_event *mark;
	struct touched *touched; /* once all are found: disjoint, by place */
	size_t count, capacity;
};

static bool shares(const struct jp_memory_space *space, uint32_t pid)
{
	const struct jp_process *one = &space->process;

	do {
		if (one->pid == pid)
			return true;
		one = one->shares;
	} while (one != &space->process);
	return false;
}

/* Whole pages, as the kernel has them. */
static int touch(struct mark_reading *reading, uint64_t start, uint64_t len)
{
	const uint64_t end = jp_min(start + jp_min(len, UINT64_MAX - start), LAST_PAGE);
	struct touched *touched;

	if (start >= end)
		return 0;
	touched = jp_array_push(&reading->touched, &reading->count, &reading->capacity);
	if (touched)
		*touched = (struct touched){start,
					    (end + JP_MEMORY_PAGE - 1) & -(uint64_t)JP_MEMORY_PAGE};
	return touched ? 0 : -ENOMEM;
}

static int touch_all(struct mark_reading *reading, const struct jp_event *act)
{
	if (!shares(reading->space, act->pid))
		return 0;
	return touch(reading, act->map.addr, act->map.len)
		       ?: act->type == JP_EVENT_REMAP ? touch(reading, act->map.to, act->map.to_len)
						      : 0;
}

/* The acts before the mark that were not over as it began. What was over then is so for all later
 * ones. */
static int find_running(struct jp_memory_replay *replay, const struct jp_event *mark)
{
	size_t kept = 0;

	for (size_t i = 0; i < replay->nr_running; i++)
		if (replay->running[i]->after >= mark->before)
			replay->running[kept++] = replay->running[i];
	replay->nr_running = kept;
	for (; &replay->truth->acts[replay->nr_seen] < mark; replay->nr_seen++) {
		const struct jp_event *act = &replay->truth->acts[replay->nr_seen], **added;

		if (!jp_memory_acted(act) || act->after < mark->before)
			continue;
		added = jp_array_push(&replay->running, &replay->nr_running,
				      &replay->running_capacity);
		if (!added)
			return -ENOMEM;
		*added = act;
	}
	return 0;
}

static int by_start(const void *left, const void *right)
{
	const struct touched *a = left, *b = right;

	return jp_compare(a->start, b->start);
}

/* One of what overlaps, or meets: to find a place is a search then, however many acts there were.
 */
static void merge_touched(struct mark_reading *reading)
{
	struct touched *all = reading->touched;
	size_t kept = 0;

	if (!reading->count)
		return;
	qsort(all, reading->count, sizeof(*all), by_start);
	for (size_t i = 1; i < reading->count; i++) {
		if (all[i].start <= all[kept].end)
			all[kept].end = jp_max(all[kept].end, all[i].end);
		else
			all[++kept] = all[i];
	}
	reading->count = kept + 1;
}

/* What the acts touched that happened while the text was read: there it is as it was before, or
 * after. 0 or -ENOMEM. */
static int find_touched(struct mark_reading *reading)
{
	const struct jp_memory_replay *replay = reading->replay;
	const struct jp_event *mark = reading->mark;
	const struct jp_event *end = replay->truth->acts + replay->truth->nr_acts;
	int failed = find_running(reading->replay, mark);

	for (size_t i = 0; !failed && i < replay->nr_running; i++)
		failed = touch_all(reading, replay->running[i]);
	for (const struct jp_event *act = mark + 1;
	     !failed && act < end && act->before <= mark->after; act++)
		if (jp_memory_acted(act))
			failed = touch_all(reading, act);
	merge_touched(reading);
	return failed;
}

/* The first of [@start, @end) that no act touched, in *@from, and where that ends. False: there is
 * none. */
static bool quiet(const struct mark_reading *reading, uint64_t start, uint64_t end, uint64_t *from,
		  uint64_t *to)
{
	size_t i;

	jp_search(i, reading->count, reading->touched[i].end <= start);
	*from = start;
	if (i < reading->count && reading->touched[i].start <= start)
		*from = reading->touched[i++].end;
	*to = i < reading->count ? jp_min(end, reading->touched[i].start) : end;
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
static bool is_told(const struct mark_reading *reading, const struct jp_memory_piece *part)
{
	const struct jp_memory_space *space = reading->space;

	return reading->replay->all->memories[part->memory].act &&
	       (part->open_after < space->born_before || part->open_before > space->born_after);
}

/* When what this mark is the first to see came to be or ceased, at the earliest. */
static uint64_t since(const struct jp_memory_space *space)
{
	return jp_max(space->marked, space->born_before);
}

/* [@start, @end) is in no line. */
static int gone(const struct mark_reading *reading, uint64_t start, uint64_t end)
{
	struct jp_memory_space *space = reading->space;
	uint64_t from, to;
	struct jp_memory_piece part;
	int failed = 0;

	for (uint64_t at = start; !failed && jp_memory_next(space, at, end, &part); at = part.end) {
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
		failed = jp_memory_add(reading->replay, space, &part, reading->mark, since(space),
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

/* @moved: as its stretch was. */
static void tell(const struct mark_reading *reading, size_t memory, const struct jp_procmap *line,
		 uint64_t moved)
{
	struct jp_memory *told = &reading->replay->all->memories[memory];

	told->line = line;
	told->shift = line->offset - (line->start - moved);
	told->read = reading->mark->before;
}

/* What @line says of the bytes of @part, of which none was touched. */
static int learn(const struct mark_reading *reading, const struct jp_memory_piece *part,
		 const struct jp_procmap *line)
{
	struct jp_memory_space *space = reading->space;
	struct jp_executables *all = reading->replay->all;
	const struct jp_memory *memory = &all->memories[part->memory];
	struct jp_memory_piece fresh = *part;

	if (part->prot == line->prot) {
		if (!memory->line || same_file(memory->line, line)) {
			tell(reading, part->memory, line, part->moved);
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
	fresh.memory = jp_memory_new(reading->replay, NULL);
	fresh.open_before = since(space);
	fresh.open_after = reading->mark->after;
	if (fresh.memory == SIZE_MAX)
		return -ENOMEM;
	tell(reading, fresh.memory, line, 0);
	return (part->prot & JP_PROT_EXEC
			? jp_memory_add(reading->replay, space, part, reading->mark, since(space),
					reading->mark->after)
			: 0)
		       ?: jp_memory_put(space, &fresh);
}

/* One line: it stands for what is known already, or for what no act told. */
static int see_line(const struct mark_reading *reading, const struct jp_procmap *line)
{
	uint64_t at = line->start, from, to;
	int failed = 0;

	while (!failed && at < line->end) {
		struct jp_memory_piece part;

		if (!quiet(reading, at, line->end, &from, &to))
			return 0;
		if (!jp_memory_next(reading->space, from, to, &part)) {
			part = (struct jp_memory_piece){.start = from, .end = to};
		} else if (part.start > from) {
			part = (struct jp_memory_piece){.start = from, .end = part.start};
		} else {
			failed = learn(reading, &part, line);
			at = part.end;
			continue;
		}
		part.memory = jp_memory_new(reading->replay, NULL);
		if (part.memory == SIZE_MAX)
			return -ENOMEM;
		part.prot = line->prot;
		part.open_before = since(reading->space);
		part.open_after = reading->mark->after;
		tell(reading, part.memory, line, 0);
		failed = jp_memory_put(reading->space, &part);
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

int jp_memory_mark(struct jp_memory_replay *replay, struct jp_memory_space *space,
		   const struct jp_event *event)
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
		reading.space = (struct jp_memory_space *)reading.space->process.shares;
	} while (!failed && reading.space != space);
	free(reading.touched);
	return failed;
}
