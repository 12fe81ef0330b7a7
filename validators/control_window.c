// SPDX-License-Identifier: GPL-2.0-only
/* Control: a capture that takes the snapshot before it enables the events. Nothing records changes
 * in between. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "harness/model/evidence/control.h"
#include "harness/model/space/replay.h"

/* Returns whether @act happened between the start of its process's first snapshot and the time at
 * which the process's events were enabled. */
static bool happened_before_enabling(const struct jp_evidence *evidence, const struct jp_event *act)
{
	const struct jp_snapshot *snapshot = jp_snapshots_find(&evidence->snapshots, act->pid);

	return snapshot && act->after >= snapshot->before && act->before <= evidence->info.enabled;
}

static bool makes_executable(const struct jp_event *act)
{
	return act->type == JP_EVENT_REMAP ||
	       ((act->type == JP_EVENT_MAP || act->type == JP_EVENT_PROTECT) &&
		(act->map.prot & JP_PROT_EXEC));
}

static bool omits_mapping(struct jp_left_out *left_out, uint64_t time)
{
	const struct jp_snapshot *snapshot =
		jp_snapshots_find(&left_out->evidence->snapshots, left_out->pid);

	/* A snapshot may contain the result of an operation that happened while it was read. */
	return left_out->act && !jp_evidence_is_gated(left_out->evidence) &&
	       makes_executable(left_out->act) &&
	       happened_before_enabling(left_out->evidence, left_out->act) &&
	       !jp_snapshot_executable(snapshot, left_out->ip);
}

static void describe(const struct jp_left_out *left_out, char *text, size_t size)
{
	snprintf(text, size,
		 "%" PRIx64 " of pid %u was mapped at %" PRIu64
		 ", after the snapshot and before the events were enabled",
		 left_out->ip, left_out->pid, left_out->act->before);
}

/* Returns whether @tid started after the capture had listed the threads and before it enabled the
 * events. */
static bool omits_thread(const struct jp_evidence *evidence, uint32_t tid)
{
	const struct jp_truth *truth = evidence->truth;

	for (size_t i = 0; jp_groups_next(&truth->acts_of.threads, tid, &i); i++) {
		const struct jp_event *act = &truth->acts[i];

		for (size_t j = 0; act->task.ppid == act->pid && j < evidence->snapshots.count; j++)
			if (evidence->snapshots.list[j].pid == act->pid &&
			    act->after >= evidence->snapshots.list[j].before &&
			    act->before <= evidence->info.enabled)
				return true;
	}
	return false;
}

/* Adds the mappings made in the window that still existed when the events were enabled. */
static int add_back(const struct jp_evidence *evidence, struct jp_extras *added_records)
{
	const struct jp_truth *truth = evidence->truth;
	struct jp_replay *replay = jp_replay_new();
	int failed = replay ? 0 : -ENOMEM;

	for (size_t i = 0; !failed && i < truth->nr_acts; i++)
		if (truth->acts[i].before <= evidence->info.enabled)
			failed = jp_replay_apply(replay, &truth->acts[i]);
	for (size_t i = 0; !failed && i < truth->nr_acts; i++) {
		const struct jp_event *act = &truth->acts[i];
		struct jp_event event = {.type = JP_EVENT_MAP, .time = act->after};
		const struct jp_mapping *map;

		if (!makes_executable(act) || !happened_before_enabling(evidence, act))
			continue;
		map = jp_replay_find(replay, act->pid,
				     act->type == JP_EVENT_REMAP ? act->map.new_addr
								 : act->map.addr);
		if (!map || !(map->prot & JP_PROT_EXEC))
			continue;
		event.pid = event.tid = act->pid;
		event.map.addr = map->start;
		event.map.len = map->end - map->start;
		event.map.pgoff = map->pgoff;
		event.map.prot = map->prot;
		event.map.name = map->name;
		failed = jp_extras_add_event(added_records, &event);
	}
	jp_replay_free(replay);
	return failed;
}

JP_DEFINE(control, window) = {
	.name = "window",
	.mapping = omits_mapping,
	.describe = describe,
	.thread = omits_thread,
	.add_back = add_back,
};
