// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/executable_load.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/model/oracle/executable_marks.h"
#include "harness/model/oracle/executable_space.h"

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
		return jp_memory_mark(replay, space, act);
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
