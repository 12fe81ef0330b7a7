// SPDX-License-Identifier: GPL-2.0-only
/* Control: a gate that does not backfill. It leaves out names and mappings from before an interval,
 * because the events were disabled at that time. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/search.h"
#include "harness/model/evidence/control.h"

static bool is_gate(const struct jp_evidence *evidence, const char *gate)
{
	return strcmp(evidence->intervals.gate, gate) == 0;
}

/* Returns whether the gate had disabled the events when @act happened. */
static bool was_disabled(const struct jp_evidence *evidence, const struct jp_event *act)
{
	const struct jp_intervals *intervals = &evidence->intervals;

	if (!jp_evidence_gates_records(evidence))
		return false;
	/* Each interval enables the events of all processes. */
	for (size_t i = 0; i < intervals->nr_intervals; i++)
		if (act->before >= intervals->intervals[i].enabled &&
		    act->after <= intervals->intervals[i].disabling)
			return false;
	return true;
}

static bool omits_exec(const struct jp_evidence *evidence, uint32_t pid, uint64_t from_ns,
		       uint64_t to_ns)
{
	const struct jp_truth *truth = evidence->truth;
	size_t i;

	if (!jp_evidence_gates_records(evidence))
		return false;
	jp_search(i, truth->nr_acts, truth->acts[i].before < from_ns);
	for (; jp_groups_next(&truth->acts_of.lifecycle, pid, &i) && truth->acts[i].before <= to_ns;
	     i++) {
		const struct jp_event *act = &truth->acts[i];

		if (act->type == JP_EVENT_EXEC && act->task.start_kind == JP_START_EXEC &&
		    act->after <= to_ns && was_disabled(evidence, act))
			return true;
	}
	return false;
}

/* Returns whether the gate's policy is `none` and the truth has thread @tid only with starts at
 * which the events were disabled. */
static bool omits_thread(const struct jp_evidence *evidence, uint32_t tid)
{
	const struct jp_truth *truth = evidence->truth;

	for (size_t i = 0; jp_groups_next(&truth->acts_of.threads, tid, &i); i++)
		if (!was_disabled(evidence, &truth->acts[i]))
			return false;
	return is_gate(evidence, "none");
}

static bool omits_mapping(struct jp_left_out *left_out, uint64_t time)
{
	const struct jp_evidence *evidence = left_out->evidence;
	const struct jp_announced *process =
		jp_intervals_find_process(&evidence->intervals, left_out->pid, time);
	const struct jp_snapshot *snapshot;

	if (!process || is_gate(evidence, "sideband"))
		return false;
	snapshot = jp_evidence_find_snapshot_at_announcement(evidence, process);
	if (left_out->act && !was_disabled(evidence, left_out->act))
		return false;
	if (left_out->act && snapshot && left_out->act->before > snapshot->after)
		return true;
	if (is_gate(evidence, "none") && snapshot)
		left_out->map = jp_snapshot_executable(snapshot, left_out->ip);
	return left_out->map;
}

static void describe(const struct jp_left_out *left_out, char *text, size_t size)
{
	const struct jp_procmap *map = left_out->map;

	if (map)
		snprintf(text, size,
			 "%" PRIx64 "-%" PRIx64
			 " %s of pid %u is older than its interval, and the events were disabled",
			 map->start, map->end, *map->name ? map->name : "(no path)", left_out->pid);
	else
		snprintf(text, size,
			 "%" PRIx64 " of pid %u was mapped at %" PRIu64
			 ", while the events were disabled",
			 left_out->ip, left_out->pid, left_out->act->before);
}

static int add_back(const struct jp_evidence *evidence, struct jp_extras *added_records)
{
	const struct jp_intervals *intervals = &evidence->intervals;
	int failed = 0;

	for (size_t i = 0; i < intervals->nr_processes && !failed; i++) {
		const struct jp_announced *process = &intervals->processes[i];
		const struct jp_snapshot *snapshot =
			jp_evidence_find_snapshot_at_announcement(evidence, process);
		struct jp_event comm = {.type = JP_EVENT_COMM,
					.pid = process->pid,
					.tid = process->pid,
					.comm = {.exec = true, .name = process->comm}};

		if (!snapshot)
			continue;
		comm.time = snapshot->before;
		failed = jp_extras_add_event(added_records, &comm);
		for (size_t j = 0; j < snapshot->count && !failed; j++)
			if (snapshot->maps[j].prot & JP_PROT_EXEC)
				failed = jp_extras_add_map(added_records, snapshot,
							   &snapshot->maps[j]);
	}
	return failed;
}

JP_DEFINE(control, gate) = {
	.name = "gate",
	.mapping = omits_mapping,
	.describe = describe,
	.exec = omits_exec,
	.thread = omits_thread,
	.add_back = add_back,
};
