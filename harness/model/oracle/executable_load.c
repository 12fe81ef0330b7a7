// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/executable_load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/page.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"
#include "harness/model/oracle/executable_space.h"

/* Higher addresses cannot be rounded up to a page. */
#define LAST_PAGE (-(uint64_t)JP_PAGE_SMALLEST)

struct touched {
	uint64_t start, end;
};

/* The comparison of one mark with the memory of one process. */
struct mark_reading {
	struct jp_memory_replay *replay;
	struct jp_memory_space *space;
	const struct jp_event *mark;
	uint64_t loaded_end;     /* jp_memory.loaded_end for the current line */
	struct touched *touched; /* merged ranges: disjoint and sorted */
	size_t count, capacity;
};

static bool shares_space_with(const struct jp_memory_space *space, uint32_t pid)
{
	const struct jp_process *process = &space->process;

	do {
		if (process->pid == pid)
			return true;
		process = process->shares;
	} while (process != &space->process);
	return false;
}

/* Adds a range, in whole pages as the kernel changes mappings. */
static int add_touched_range(struct mark_reading *reading, uint64_t start, uint64_t len)
{
	const uint64_t end = jp_min(start + jp_min(len, UINT64_MAX - start), LAST_PAGE);
	struct touched *touched;

	if (start >= end)
		return 0;
	touched = jp_array_push(&reading->touched, &reading->count, &reading->capacity);
	if (touched)
		*touched = (struct touched){start, (end + JP_PAGE_SMALLEST - 1) &
							   -(uint64_t)JP_PAGE_SMALLEST};
	return touched ? 0 : -ENOMEM;
}

static int add_touched_by(struct mark_reading *reading, const struct jp_event *act)
{
	if (!shares_space_with(reading->space, act->pid))
		return 0;
	return add_touched_range(reading, act->map.addr, act->map.len)
		       ?: act->type == JP_EVENT_REMAP
			  ? add_touched_range(reading, act->map.new_addr, act->map.new_len)
			  : 0;
}

/* Finds the acts before @mark that may overlap it in time. An act that ended before @mark cannot
 * overlap later marks either. */
static int find_concurrent_acts(struct jp_memory_replay *replay, const struct jp_event *mark)
{
	size_t nr_kept = 0;

	for (size_t i = 0; i < replay->nr_running; i++)
		if (replay->running[i]->after >= mark->before)
			replay->running[nr_kept++] = replay->running[i];
	replay->nr_running = nr_kept;
	for (; &replay->truth->acts[replay->nr_seen] < mark; replay->nr_seen++) {
		const struct jp_event *act = &replay->truth->acts[replay->nr_seen];

		if (!jp_memory_is_changed_by(act) || act->after < mark->before)
			continue;
		if (jp_array_append(&replay->running, &replay->nr_running,
				    &replay->running_capacity, act))
			return -ENOMEM;
	}
	return 0;
}

JP_ORDER(compare_by_start, struct touched, jp_compare(a->start, b->start));

/* Sorts the ranges and merges those that overlap or touch, so that lookups are binary searches. */
static void merge_touched_ranges(struct mark_reading *reading)
{
	struct touched *touched = reading->touched;
	size_t last_kept = 0;

	if (!reading->count)
		return;
	jp_sort(touched, reading->count, compare_by_start);
	for (size_t i = 1; i < reading->count; i++) {
		if (touched[i].start <= touched[last_kept].end)
			touched[last_kept].end = jp_max(touched[last_kept].end, touched[i].end);
		else
			touched[++last_kept] = touched[i];
	}
	reading->count = last_kept + 1;
}

/* Finds the ranges that acts changed while the mark was read: the mark may show them before or
 * after the change. Returns 0 or -ENOMEM. */
static int find_touched_ranges(struct mark_reading *reading)
{
	const struct jp_memory_replay *replay = reading->replay;
	const struct jp_event *mark = reading->mark;
	const struct jp_event *end = replay->truth->acts + replay->truth->nr_acts;
	int failed = find_concurrent_acts(reading->replay, mark);

	for (size_t i = 0; !failed && i < replay->nr_running; i++)
		failed = add_touched_by(reading, replay->running[i]);
	for (const struct jp_event *act = mark + 1;
	     !failed && act < end && act->before <= mark->after; act++)
		if (jp_memory_is_changed_by(act))
			failed = add_touched_by(reading, act);
	merge_touched_ranges(reading);
	return failed;
}

/* Stores the first part [*@from, *@to) of [@start, @end) that no act touched. Returns false if
 * there is none. */
static bool find_untouched_range(const struct mark_reading *reading, uint64_t start, uint64_t end,
				 uint64_t *from, uint64_t *to)
{
	size_t i;

	jp_search(i, reading->count, reading->touched[i].end <= start);
	*from = start;
	if (i < reading->count && reading->touched[i].start <= start)
		*from = reading->touched[i++].end;
	*to = i < reading->count ? jp_min(end, reading->touched[i].start) : end;
	return *from < end;
}

static int fail_contradiction(const struct mark_reading *reading, uint64_t start, uint64_t end,
			      const char *problem)
{
	return jp_fail(reading->replay->err, EINVAL,
		       "the truth contradicts itself: pid %u, %" PRIx64 "-%" PRIx64 " at %" PRIu64
		       ": %s",
		       reading->space->process.pid, start, end, reading->mark->before, problem);
}

/* Returns whether an act of this process created @part. Acts near the time of its fork do not
 * count, because the parent may have performed them. */
static bool was_created_by_act(const struct mark_reading *reading,
			       const struct jp_memory_piece *part)
{
	const struct jp_memory_space *space = reading->space;

	return reading->replay->executables->memories[part->memory].act &&
	       (part->open_after < space->born_before || part->open_before > space->born_after);
}

/* Returns the earliest time of a change that this mark is the first to show. */
static uint64_t get_earliest_change(const struct jp_memory_space *space)
{
	return jp_max(space->marked, space->born_before);
}

/* Closes the executable memory in [@start, @end), for which the mark has no line. */
static int close_missing_memory(const struct mark_reading *reading, uint64_t start, uint64_t end)
{
	struct jp_memory_space *space = reading->space;
	uint64_t from, to;
	struct jp_memory_piece part;
	int failed = 0;

	for (uint64_t addr = start; !failed && jp_memory_next(space, addr, end, &part);
	     addr = part.end) {
		if (!(part.prot & JP_PROT_EXEC))
			continue;
		if (!find_untouched_range(reading, part.start, part.end, &from, &to))
			continue;
		if (from > part.start) {
			part.end = from;
			continue;
		}
		part.end = to;
		if (was_created_by_act(reading, &part))
			return fail_contradiction(reading, part.start, part.end,
						  "mapped executable, but not in its maps");
		failed = jp_memory_add(reading->replay, space, &part, reading->mark,
				       get_earliest_change(space), reading->mark->after)
				 ?: jp_ranges_clear(&space->pieces, part.start, part.end);
	}
	return failed;
}

/* Stores @line in memory @memory, whose range was moved by @moved bytes. */
static void store_line(const struct mark_reading *reading, size_t memory,
		       const struct jp_procmap *line, uint64_t moved)
{
	struct jp_memory *known = &reading->replay->executables->memories[memory];

	known->line = line;
	known->shift = line->offset - (line->start - moved);
	known->read = reading->mark->before;
	known->loaded_end = reading->loaded_end;
}

/* Updates @part, which no act touched, from @line. */
static int apply_to_piece(const struct mark_reading *reading, const struct jp_memory_piece *part,
			  const struct jp_procmap *line)
{
	struct jp_memory_space *space = reading->space;
	struct jp_executables *executables = reading->replay->executables;
	const struct jp_memory *memory = &executables->memories[part->memory];
	struct jp_memory_piece fresh = *part;

	if (part->prot == line->prot) {
		if (!memory->line || jp_procmap_same_file(memory->line, line)) {
			store_line(reading, part->memory, line, part->distance);
			return 0;
		}
		if (was_created_by_act(reading, part))
			return fail_contradiction(reading, part->start, part->end,
						  "another file in its maps than before");
	} else if (was_created_by_act(reading, part)) {
		return fail_contradiction(reading, part->start, part->end,
					  "another protection in its maps");
	}
	/* A new mapping replaced the old one without an act. */
	fresh.prot = line->prot;
	fresh.distance = 0;
	fresh.memory = jp_memory_new(reading->replay, NULL);
	fresh.open_before = get_earliest_change(space);
	fresh.open_after = reading->mark->after;
	if (fresh.memory == SIZE_MAX)
		return -ENOMEM;
	store_line(reading, fresh.memory, line, 0);
	return (part->prot & JP_PROT_EXEC
			? jp_memory_add(reading->replay, space, part, reading->mark,
					get_earliest_change(space), reading->mark->after)
			: 0)
		       ?: jp_memory_put(space, &fresh);
}

/* Applies a line, which matches known memory or adds memory that no act reported. */
static int apply_line(const struct mark_reading *reading, const struct jp_procmap *line)
{
	uint64_t addr = line->start, from, to;
	int failed = 0;

	while (!failed && addr < line->end) {
		struct jp_memory_piece part;

		if (!find_untouched_range(reading, addr, line->end, &from, &to))
			return 0;
		if (!jp_memory_next(reading->space, from, to, &part)) {
			part = (struct jp_memory_piece){.start = from, .end = to};
		} else if (part.start > from) {
			part = (struct jp_memory_piece){.start = from, .end = part.start};
		} else {
			failed = apply_to_piece(reading, &part, line);
			addr = part.end;
			continue;
		}
		part.memory = jp_memory_new(reading->replay, NULL);
		if (part.memory == SIZE_MAX)
			return -ENOMEM;
		part.prot = line->prot;
		part.open_before = get_earliest_change(reading->space);
		part.open_after = reading->mark->after;
		store_line(reading, part.memory, line, 0);
		failed = jp_memory_put(reading->space, &part);
		addr = part.end;
	}
	return failed;
}

static int apply_lines(struct mark_reading *reading, const struct jp_procmap *lines, size_t count)
{
	uint64_t reached = 0;
	int failed = 0;

	for (size_t i = 0; i < count && !failed; i++) {
		if (!(lines[i].prot & JP_PROT_EXEC))
			continue;
		if (lines[i].start > reached)
			failed = close_missing_memory(reading, reached, lines[i].start);
		reading->loaded_end = jp_procmap_loaded_end(&lines[i], count - i);
		failed = failed ?: apply_line(reading, &lines[i]);
		reached = jp_max(reached, lines[i].end);
	}
	return failed ?: close_missing_memory(reading, reached, UINT64_MAX);
}

/* Applies the mark @event, which lists all executable mappings of @space and of the processes that
 * share it. Adds mappings that no act reported. Returns 0, -EINVAL and a message if acts and mark
 * contradict each other, or -ENOMEM. */
static int apply_mark(struct jp_memory_replay *replay, struct jp_memory_space *space,
		      const struct jp_event *event)
{
	struct jp_executables *executables = replay->executables;
	struct mark_reading reading = {.replay = replay, .space = space, .mark = event};
	struct jp_procmap **text = jp_array_push(&executables->texts, &executables->nr_texts,
						 &executables->texts_capacity);
	struct jp_mark *added = jp_array_push(&executables->marks, &executables->nr_marks,
					      &executables->marks_capacity);
	struct jp_error reason;
	size_t count;
	int failed;

	if (!text || !added)
		return -ENOMEM;
	*added = (struct jp_mark){event->pid, event->before, event->after};
	failed = jp_procmaps_parse(event->maps.text, strlen(event->maps.text), text, &count,
				   &reason);
	if (failed)
		return jp_fail(replay->err, EINVAL, "truth: the maps of pid %u at %" PRIu64 ": %s",
			       event->pid, event->before, reason.text);
	/* Apply the mark to all processes that share the space. */
	failed = find_touched_ranges(&reading);
	do {
		failed = failed ?: apply_lines(&reading, *text, count);
		reading.space->marked = event->after;
		reading.space = (struct jp_memory_space *)reading.space->process.shares;
	} while (!failed && reading.space != space);
	free(reading.touched);
	return failed;
}

/* Closes the memory of an image. Keeps the memory of a process that ended until its pid is reused:
 * no sample can show the difference. */
static int end_image(void *context, struct jp_process *process, const struct jp_event *event)
{
	struct jp_memory_space *space = (struct jp_memory_space *)process;
	int failed;

	if (event->type == JP_EVENT_END)
		return 0;
	failed = jp_memory_close(context, space, 0, UINT64_MAX, event, event->before, event->after);
	jp_ranges_free(space->pieces);
	space->pieces = NULL;
	space->born_before = event->task.start_kind == JP_START_LAUNCH ? 0 : event->before;
	space->born_after = event->after;
	space->marked = 0;
	return failed;
}

/* Finds the ranges that may have ended at @time or later; later forks need no other ranges. */
static int find_recent_ranges(struct jp_memory_replay *replay, uint64_t time)
{
	const struct jp_executables *executables = replay->executables;
	size_t nr_kept = 0;

	for (size_t i = 0; i < replay->nr_recent; i++)
		if (executables->list[replay->recent[i]].close_after >= time)
			replay->recent[nr_kept++] = replay->recent[i];
	replay->nr_recent = nr_kept;
	for (; replay->nr_listed < executables->count; replay->nr_listed++) {
		if (executables->list[replay->nr_listed].close_after < time)
			continue;
		if (jp_array_append(&replay->recent, &replay->nr_recent, &replay->recent_capacity,
				    replay->nr_listed))
			return -ENOMEM;
	}
	return 0;
}

static int inherit_memory(void *context, struct jp_process *child, struct jp_process *parent,
			  const struct jp_event *event)
{
	struct jp_memory_replay *replay = context;
	struct jp_executables *executables = replay->executables;
	struct jp_ranges *had = ((struct jp_memory_space *)parent)->pieces;

	((struct jp_memory_space *)child)->pieces = had ? jp_ranges_share(had) : NULL;
	/* The child may have kept a range that ended about the time of the fork, for as long as it
	 * runs. */
	if (find_recent_ranges(replay, event->before))
		return -ENOMEM;
	for (size_t i = 0; i < replay->nr_recent; i++) {
		struct jp_executable copy = executables->list[replay->recent[i]];

		if (copy.pid != parent->pid)
			continue;
		copy.pid = child->pid;
		copy.open_before = event->before;
		copy.close_before = 0;
		copy.close_after = UINT64_MAX;
		if (jp_array_append(&executables->list, &executables->count, &executables->capacity,
				    copy))
			return -ENOMEM;
	}
	return 0;
}

static const struct jp_process_rules rules = {
	.size = sizeof(struct jp_memory_space), .end = end_image, .inherit = inherit_memory};

static int apply_act(struct jp_memory_replay *replay, const struct jp_event *act)
{
	struct jp_memory_space *first, *space;
	size_t memory = 0;
	int failed = 0;

	if (!jp_memory_is_changed_by(act) && act->type != JP_EVENT_MAPS)
		return jp_processes_apply(&replay->processes, act);
	first = space = (struct jp_memory_space *)jp_processes_at(&replay->processes, act->pid);
	if (!first)
		return -ENOMEM;
	if (act->type == JP_EVENT_MAPS)
		return apply_mark(replay, space, act);
	if (act->type == JP_EVENT_MAP)
		memory = jp_memory_new(replay, act);
	if (memory == SIZE_MAX)
		return -ENOMEM;
	do {
		failed = jp_memory_apply(replay, space, act, memory);
		space = (struct jp_memory_space *)space->process.shares;
	} while (!failed && space != first);
	return failed;
}

int jp_executables_load(struct jp_executables *executables, const struct jp_truth *truth,
			struct jp_error *err)
{
	struct jp_memory_replay replay = {.executables = executables, .truth = truth, .err = err};
	struct jp_memory_space *space;
	int failed = 0;

	replay.processes.rules = &rules;
	replay.processes.context = &replay;
	for (size_t i = 0; !failed && i < truth->nr_acts; i++)
		failed = apply_act(&replay, &truth->acts[i]);
	for (size_t cursor = 0;
	     (space = (struct jp_memory_space *)jp_processes_next(&replay.processes, &cursor));) {
		failed = failed
				 ?: jp_memory_close(&replay, space, 0, UINT64_MAX, NULL, UINT64_MAX,
						    UINT64_MAX);
		jp_ranges_free(space->pieces);
	}
	jp_processes_free(&replay.processes);
	free(replay.running);
	free(replay.recent);
	failed = failed ?: jp_executables_index(executables);
	if (failed == -ENOMEM)
		jp_fail(err, ENOMEM, "truth: out of memory for its mappings");
	return failed;
}
