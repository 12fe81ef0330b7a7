// SPDX-License-Identifier: GPL-2.0-only
#include "harness/judge/evidence_gate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/model/space/replay.h"

const struct jp_snapshot *jp_evidence_announced(const struct jp_evidence *evidence,
						const struct jp_announced *process)
{
	for (size_t i = 0; i < evidence->nr_snapshots; i++)
		if (evidence->snapshots[i].pid == process->pid &&
		    evidence->snapshots[i].before >= process->asked)
			return &evidence->snapshots[i];
	return NULL;
}

bool jp_evidence_window(const struct jp_evidence *evidence, uint32_t pid, size_t *at,
			uint64_t *from, uint64_t *to)
{
	const struct jp_intervals *intervals = &evidence->intervals;

	if (!jp_evidence_gated(evidence)) {
		*from = evidence->info.sampling;
		*to = evidence->info.stopped;
		return !(*at)++;
	}
	while (*at < intervals->nr_intervals) {
		const struct jp_interval *interval = &intervals->intervals[(*at)++];

		*from = interval->enabled;
		*to = interval->disabling;
		if (interval->pid == pid)
			return true;
	}
	return false;
}

/* Whether the gate was closed to mappings and names when @act was made. */
static bool shut(const struct jp_evidence *evidence, const struct jp_event *act)
{
	const struct jp_intervals *intervals = &evidence->intervals;

	if (!jp_evidence_gated(evidence) || strcmp(intervals->gate, "sideband") == 0)
		return false;
	/* While one process has its interval, the events of all are enabled. */
	for (size_t i = 0; i < intervals->nr_intervals; i++)
		if (act->before >= intervals->intervals[i].enabled &&
		    act->after <= intervals->intervals[i].disabling)
			return false;
	return true;
}

bool jp_evidence_untold_exec(const struct jp_evidence *evidence, uint32_t pid, uint64_t from,
			     uint64_t to)
{
	for (size_t i = 0; i < evidence->truth->nr_acts; i++) {
		const struct jp_event *act = &evidence->truth->acts[i];

		if (act->pid == pid && act->type == JP_EVENT_EXEC && act->task.how == JP_HOW_EXEC &&
		    act->before >= from && act->after <= to && shut(evidence, act))
			return true;
	}
	return false;
}

enum jp_left_out jp_evidence_gate_left_out(const struct jp_evidence *evidence, uint32_t pid,
					   uint64_t ip, uint64_t time, const struct jp_event *last,
					   char *what, size_t size)
{
	const struct jp_announced *process = jp_intervals_process(&evidence->intervals, pid, time);
	const struct jp_snapshot *snapshot;

	if (!process || strcmp(evidence->intervals.gate, "sideband") == 0)
		return JP_LEFT_NOTHING;
	snapshot = jp_evidence_announced(evidence, process);
	if (last && snapshot && last->before > snapshot->after) {
		if (!shut(evidence, last))
			return JP_LEFT_NOTHING;
		snprintf(what, size,
			 "%" PRIx64 " of pid %u was mapped at %" PRIu64
			 ", while the events were disabled",
			 ip, pid, last->before);
		return JP_LEFT_GATE;
	}
	if (strcmp(evidence->intervals.gate, "none") != 0)
		return JP_LEFT_NOTHING;
	for (size_t i = 0; snapshot && i < snapshot->count; i++) {
		const struct jp_procmap *map = &snapshot->maps[i];

		if (!(map->prot & JP_PROT_EXEC) || ip < map->start || ip >= map->end)
			continue;
		snprintf(what, size,
			 "%" PRIx64 "-%" PRIx64
			 " %s of pid %u is older than its interval, and the events were disabled",
			 map->start, map->end, *map->name ? map->name : "(no path)", pid);
		return JP_LEFT_GATE;
	}
	return JP_LEFT_NOTHING;
}

/* \ooo as bytes. */
static void decode(const char *from, char *to)
{
	for (; *from; from++) {
		if (from[0] == '\\' && from[1] && from[2] && from[3]) {
			*to++ = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 |
				       (from[3] - '0'));
			from += 3;
		} else {
			*to++ = *from;
		}
	}
	*to = 0;
}

int jp_evidence_gate_extras(const struct jp_evidence *evidence, struct jp_replay *names,
			    int (*add)(void *context, struct jp_event extra), void *context)
{
	const struct jp_intervals *intervals = &evidence->intervals;
	int failed = 0;

	for (size_t i = 0; i < intervals->nr_processes && !failed; i++) {
		const struct jp_announced *process = &intervals->processes[i];
		const struct jp_snapshot *snapshot = jp_evidence_announced(evidence, process);
		struct jp_event extra = {
			.type = JP_EVENT_COMM, .pid = process->pid, .tid = process->pid};
		char name[sizeof(process->comm)];

		if (!snapshot)
			continue;
		decode(process->comm, name);
		extra.time = snapshot->before;
		extra.comm.exec = true;
		extra.comm.name = jp_replay_text(names, name);
		failed = extra.comm.name ? add(context, extra) : -1;
		for (size_t j = 0; j < snapshot->count && !failed; j++) {
			const struct jp_procmap *map = &snapshot->maps[j];

			if (map->prot & JP_PROT_EXEC)
				failed = add(context, jp_snapshot_event(snapshot, map));
		}
	}
	return failed;
}
