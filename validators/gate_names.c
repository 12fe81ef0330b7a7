// SPDX-License-Identifier: GPL-2.0-only
/* Names at a gate: the gate must list each announced process with its name at that time. Its
 * backfill must mark the name as set by an exec, at which readers drop all mappings, if and only if
 * the capture has no valid mapping of the process. */
#include "validators/gate_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/judge/validator.h"
#include "harness/model/oracle/tasks.h"

struct gate_names {
	struct jp_view *view;
	struct jp_tasks tasks;
	bool *is_new; /* by announcement: the capture had none of the mappings in its snapshot */
	size_t nr_passed; /* number of announcements whose backfill the replay may have reached */
	uint64_t nr_wrong, nr_records, nr_wrong_records;
};

/* Returns the announcement for which a backfill wrote @event, or NULL. In older captures such
 * records have the time at which the maps were read. */
static const struct jp_announced *find_announcement(const struct jp_evidence *evidence,
						    const struct jp_event *event)
{
	const struct jp_intervals *intervals = &evidence->intervals;

	if (!event->record || strcmp(intervals->gate, "backfill") != 0)
		return NULL;
	for (size_t i = 0; i < intervals->nr_processes; i++) {
		const struct jp_announced *process = &intervals->processes[i];
		const struct jp_snapshot *snapshot =
			jp_evidence_find_snapshot_at_announcement(evidence, process);

		if (process->pid == event->pid && snapshot &&
		    (event->time == snapshot->before ||
		     event->time == jp_intervals_get_backfill_time(intervals, process,
								   evidence->info.enabled)))
			return process;
	}
	return NULL;
}

const struct jp_snapshot *jp_gate_find_backfill(const struct jp_evidence *evidence,
						const struct jp_event *event)
{
	const struct jp_announced *process = find_announcement(evidence, event);

	return process ? jp_evidence_find_snapshot_at_announcement(evidence, process) : NULL;
}

uint64_t jp_gate_reported_time(const struct jp_evidence *evidence, const struct jp_event *event)
{
	const struct jp_snapshot *snapshot = jp_gate_find_backfill(evidence, event);

	return snapshot ? snapshot->before : event->time;
}

/* Returns whether the capture has exactly @map. The offset of memory without a file is ignored. */
static bool is_known_mapping(struct jp_replay *spaces, uint32_t pid, const struct jp_procmap *map)
{
	const struct jp_mapping *mapping = jp_replay_find(spaces, pid, map->start);

	return mapping && mapping->prot & JP_PROT_EXEC && mapping->start == map->start &&
	       mapping->end == map->end && mapping->ino == map->ino && mapping->maj == map->maj &&
	       mapping->min == map->min && (!map->ino || mapping->pgoff == map->offset);
}

static bool has_no_known_mapping(const struct gate_names *gate, const struct jp_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->count; i++)
		/* [vsyscall] has no record. */
		if (snapshot->maps[i].prot & JP_PROT_EXEC && !(snapshot->maps[i].start >> 63) &&
		    is_known_mapping(gate->view->spaces, snapshot->pid, &snapshot->maps[i]))
			return false;
	return true;
}

/* For each process that announced itself up to @time: stores whether perf.data has one of its
 * mappings before the records that jitproof synthesized from its /proc/PID/maps. */
static int advance_to(struct jp_view *view, uint64_t time)
{
	const struct jp_intervals *intervals = &view->evidence->intervals;
	struct gate_names *gate = view->state;

	for (; gate->nr_passed < intervals->nr_processes; gate->nr_passed++) {
		const struct jp_announced *process = &intervals->processes[gate->nr_passed];
		const struct jp_snapshot *snapshot =
			jp_evidence_find_snapshot_at_announcement(view->evidence, process);

		if (jp_intervals_get_backfill_time(intervals, process,
						   view->evidence->info.enabled) > time)
			break;
		gate->is_new[gate->nr_passed] = snapshot && has_no_known_mapping(gate, snapshot);
	}
	return 0;
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct gate_names *gate = view->state;
	const struct jp_announced *process =
		event->type == JP_EVENT_COMM ? find_announcement(view->evidence, event) : NULL;
	bool anew;

	if (!process)
		return 0;
	anew = event->tid == event->pid &&
	       gate->is_new[process - view->evidence->intervals.processes];
	gate->nr_records++;
	if (event->comm.exec == anew)
		return 0;
	gate->nr_wrong_records++;
	return jp_findings_count_failure(
		&view->findings, "gated.anew", anew ? "no-exec" : "exec",
		"thread %u/%u, '%.20s' as read at %" PRIu64 ": %s", event->pid, event->tid,
		event->comm.name, event->time,
		anew ? "it was unknown before, but its record marks no exec"
		     : "it was known before, but its record marks an exec");
}

/* Returns the latest time at which the gate can have read the name of @process: the time of its
 * next action. */
static uint64_t get_latest_reading_time(const struct jp_intervals *intervals, size_t process)
{
	uint64_t end = process + 1 < intervals->nr_processes
			       ? intervals->processes[process + 1].announcement_time
			       : UINT64_MAX;

	for (size_t i = 0; i < intervals->nr_intervals; i++)
		if (intervals->intervals[i].process == process)
			return intervals->intervals[i].enabling;
	return end;
}

/* Returns whether @process had its listed name at any time at which the gate may have read it. */
static bool had_listed_name(const struct gate_names *gate, size_t process)
{
	const struct jp_evidence *evidence = gate->view->evidence;
	const struct jp_announced *announced = &evidence->intervals.processes[process];
	const uint64_t slack = evidence->info.slack;
	const uint64_t end = get_latest_reading_time(&evidence->intervals, process);
	const struct jp_task_name *name =
		jp_tasks_name(&gate->tasks, announced->pid, end == UINT64_MAX ? end : end + slack);

	for (; name && name->tid == announced->pid; name--) {
		if (name->text && strcmp(name->text, announced->comm) == 0)
			return true;
		if (announced->announcement_time > name->after + slack || name == gate->tasks.names)
			break;
	}
	return false;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct jp_intervals *intervals = &view->evidence->intervals;
	struct gate_names *gate = view->state;
	int failed = 0;

	for (size_t i = 0; i < intervals->nr_processes && !failed; i++) {
		const struct jp_announced *process = &intervals->processes[i];

		/* The process had ended before its name was read. */
		if (strcmp(process->comm, "?") == 0 || had_listed_name(gate, i))
			continue;
		gate->nr_wrong++;
		failed = jp_findings_count_failure(
			&view->findings, "gated.listed", "other-text",
			"process %zu, pid %u, which asked at %" PRIu64 ", is listed as '%.20s', a "
			"name that it never had",
			i + 1, process->pid, process->announcement_time, process->comm);
	}
	jp_findings_add_rate(&view->findings, "gated.listed", gate->nr_wrong,
			     intervals->nr_processes);
	jp_findings_add_rate(&view->findings, "gated.anew", gate->nr_wrong_records,
			     gate->nr_records);
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_evidence *evidence = view->evidence;
	struct gate_names *gate = view->state;

	/* Older truths have no names. */
	if (!jp_evidence_is_gated(evidence) || evidence->truth->version < 3)
		return 1;
	gate->is_new = calloc(evidence->intervals.nr_processes + 1, sizeof(*gate->is_new));
	return gate->is_new ? jp_tasks_collect(evidence->truth, &gate->tasks) : -ENOMEM;
}

static void free_gate(void *state)
{
	struct gate_names *gate = state;

	jp_tasks_free(&gate->tasks);
	free(gate->is_new);
}

JP_DEFINE(validator, gate_names) = {
	.name = "gate_names",
	.state_size = sizeof(struct gate_names),
	.begin = begin,
	.advance_to = advance_to,
	.handle = handle_event,
	.end = end,
	.free = free_gate,
};
