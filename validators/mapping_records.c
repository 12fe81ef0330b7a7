// SPDX-License-Identifier: GPL-2.0-only
/* Mapping records: each record must describe memory that was executable at the record's time, with
 * the right protection, file, name and thread. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/map.h"
#include "harness/base/order.h"

#include "harness/judge/validator.h"
#include "harness/model/oracle/executable_load.h"
#include "validators/gate_names.h"
#include "validators/mapping_compare.h"
#include "validators/mapping_halves.h"
#include "validators/sample_class.h"
#include "validators/two_clocks.h"

struct mapping_records {
	struct jp_view *view;
	struct jp_executables truth;
	struct jp_map threads; /* by process and thread: tids of the truth */
	struct jp_mapping_halves halves;
	uint64_t records, invented, unknown;
};

/* Stores in [*@from_ns, *@to_ns] the time at which the content of @record was true: the
 * record's own time (then sets *@is_live), or the time in which a snapshot was read. Returns false
 * if the record is older than the events and comes from no snapshot. */
static bool find_time(const struct mapping_records *state, const struct jp_event *record,
		      uint64_t *from_ns, uint64_t *to_ns, bool *is_live)
{
	const struct jp_evidence *evidence = state->view->evidence;
	const uint64_t time = jp_gate_reported_time(evidence, record);

	/* A record that a control left out has no bytes, and has the time of its operation. */
	bool is_possible = !record->record ||
			   record->time + evidence->info.slack >= evidence->info.first_enabled;

	*is_live = record->record &&
		   record->time > (evidence->info.first_enabled ?: evidence->info.enabled);
	*from_ns = *to_ns = time;
	if (!record->time)
		*to_ns = evidence->info.enabled;
	for (size_t i = 0; i < evidence->snapshots.count; i++) {
		const struct jp_snapshot *snapshot = &evidence->snapshots.list[i];

		if (snapshot->pid != record->pid || time > snapshot->after ||
		    (time && time < snapshot->before))
			continue;
		*from_ns = jp_min(*from_ns, snapshot->before);
		*to_ns = jp_max(*to_ns, snapshot->after);
		is_possible = true;
		*is_live = false;
	}
	return is_possible;
}

/* Returns the end of the memory, from @addr on, that @record describes correctly. If the record is
 * wrong at @addr itself, returns @addr, and stores the wrong attribute in *@cause if the truth has
 * a mapping there. */
static uint64_t find_right_end(const struct mapping_records *state, const struct jp_event *record,
			       uint64_t addr, const char **cause)
{
	const uint64_t end = record->map.addr + record->map.len;
	const struct jp_executable *executable;
	size_t cursor = SIZE_MAX;
	uint64_t from_ns, to_ns;
	bool is_live;

	if (!find_time(state, record, &from_ns, &to_ns, &is_live)) {
		*cause = "time";
		return addr;
	}
	while ((executable =
			jp_executables_next(&state->truth, record->pid, addr, addr + 1, &cursor))) {
		const char *difference;

		if (!jp_executable_may_exist(executable, from_ns, to_ns,
					     state->view->evidence->info.slack))
			continue;
		difference = jp_mapping_record_differs(&state->truth.memories[executable->memory],
						       executable, record, is_live, addr);
		if (!difference)
			return is_live && jp_executable_is_loaded(&state->truth, executable, addr,
								  end)
				       ? end
				       : executable->end;
		*cause = difference;
	}
	return addr;
}

/* Returns the line of the truth's next maps after @time that shows the mapping @executable
 * unchanged, or NULL. */
static const struct jp_procmap *find_line(const struct mapping_records *state,
					  const struct jp_executable *executable, uint64_t time)
{
	const struct jp_memory *memory = &state->truth.memories[executable->memory];

	return memory->line && memory->line->prot == executable->prot &&
			       jp_executable_may_exist(executable, time, time,
						       state->view->evidence->info.slack) &&
			       memory->read > time && memory->read < executable->close_before
		       ? memory->line
		       : NULL;
}

/* Returns whether one mapping ended and another began at @addr at the time of @record: later maps
 * show both unchanged. Ignores names of PR_SET_VMA_ANON_NAME. */
static bool is_border(const struct mapping_records *state, const struct jp_event *record,
		      uint64_t addr)
{
	const struct jp_procmap *previous_line = NULL, *next_line = NULL, *line;
	const struct jp_executable *executable;
	size_t cursor = SIZE_MAX;

	while ((executable = jp_executables_next(&state->truth, record->pid, addr - 1, addr + 1,
						 &cursor))) {
		line = find_line(state, executable, record->time);
		if (line && executable->end == addr && line->end == addr)
			previous_line = line;
		else if (line && executable->start == addr && line->start == addr)
			next_line = line;
	}
	return previous_line && next_line && strcmp(previous_line->name, next_line->name) == 0;
}

/* Returns whether one mapping contained both sides of @addr during the whole time that @record
 * describes. The kernel's records and lines of maps describe whole mappings (perf_event_mmap()), so
 * @record cannot begin or end at such an address. */
static bool is_within(const struct mapping_records *state, const struct jp_event *record,
		      uint64_t addr)
{
	const uint64_t slack = state->view->evidence->info.slack;
	const struct jp_executable *executable;
	size_t cursor = SIZE_MAX;
	uint64_t from_ns, to_ns;
	bool is_live;

	find_time(state, record, &from_ns, &to_ns, &is_live);
	while ((executable =
			jp_executables_next(&state->truth, record->pid, addr, addr + 1, &cursor)))
		if (executable->start < addr && executable->open_after + slack <= from_ns &&
		    (executable->close_before == UINT64_MAX ||
		     to_ns + slack <= executable->close_before))
			return true;
	return false;
}

/* Returns whether one mapping may have contained both sides of @addr at the time of @record. */
static bool is_possibly_within(const struct mapping_records *state, const struct jp_event *record,
			       uint64_t addr)
{
	const struct jp_executable *executable;
	size_t cursor = SIZE_MAX;

	while ((executable =
			jp_executables_next(&state->truth, record->pid, addr, addr + 1, &cursor)))
		if (executable->start < addr &&
		    jp_executable_may_exist(executable, record->time, record->time,
					    state->view->evidence->info.slack))
			return true;
	return false;
}

/* Sets *@cause to "part" if @record and an earlier record describe parts of one mapping. Returns 0
 * or -ENOMEM. */
static int find_partial_record(struct mapping_records *state, const struct jp_event *record,
			       const char **cause)
{
	const uint64_t end = record->map.addr + record->map.len;
	bool touches_start, touches_end, is_live;
	uint64_t from_ns, to_ns;

	find_time(state, record, &from_ns, &to_ns, &is_live);
	if (!is_live)
		return 0;
	if (jp_mapping_halves_note(&state->halves, record, &touches_start, &touches_end))
		return -ENOMEM;
	if ((touches_start && is_possibly_within(state, record, record->map.addr)) ||
	    (touches_end && is_possibly_within(state, record, end)))
		*cause = "part";
	return 0;
}

/* Lists the threads of each process: one of them must be the thread of a mapping record.
 * Synthesized records have the first thread. */
static int find_threads(struct mapping_records *state)
{
	const struct jp_truth *truth = state->view->evidence->truth;
	bool failed = false;

	for (size_t i = 0; i < truth->nr_acts; i++)
		failed |= !jp_map_at(&state->threads,
				     jp_clock_key(truth->acts[i].pid, truth->acts[i].tid),
				     sizeof(uint64_t));
	for (size_t i = 0; i < truth->nr_incarnations; i++)
		failed |= !jp_map_at(
			&state->threads,
			jp_clock_key(truth->incarnations[i].pid, truth->incarnations[i].pid),
			sizeof(uint64_t));
	return failed ? -ENOMEM : 0;
}

/* Returns the attribute of @record that no mapping can have, or NULL. */
static const char *find_impossible_attribute(const struct mapping_records *state,
					     const struct jp_event *record)
{
	if (!jp_map_find(&state->threads, jp_clock_key(record->pid, record->tid)))
		return "thread";
	if (record->kernel_map)
		return "mode";
	if (!record->map.len)
		return "length";
	if (!*record->map.name) /* memory without a name is "//anon" */
		return "name";
	/* A first SysV segment has inode 0 (newseg() in ipc/shm.c takes its id), but a device. */
	if (record->map.has_identity && record->map.gen && !record->map.ino && !record->map.maj &&
	    !record->map.min)
		return "inode";
	return NULL;
}

/* Returns whether a profiler synthesized @record from the maps of its own child, before the child
 * executed the workload: perf record -a reads the maps of all processes. */
static bool is_before_launch(const struct mapping_records *state, const struct jp_event *record)
{
	const struct jp_truth_incarnation *image =
		record->time ? NULL
			     : jp_truth_image_at(state->view->evidence->truth, record->pid, 0);

	return image && image->after > state->view->evidence->info.enabled;
}

static int judge_record(struct mapping_records *state, const struct jp_event *record)
{
	const uint64_t end = record->map.addr + record->map.len;
	uint64_t covered_end = record->map.addr, next = covered_end;
	const char *cause = "invented", *impossible, *half = NULL;
	const bool is_watched =
		jp_sample_is_watched(state->view->evidence, record->pid, UINT64_MAX) &&
		!is_before_launch(state, record);
	uint64_t from_ns, to_ns;
	bool is_live;

	if (!(record->map.prot & JP_PROT_EXEC) || (record->kernel_map && !is_watched))
		return 0;
	if (!is_watched) {
		state->unknown++;
		return jp_findings_count_failure(
			&state->view->findings, "mappings.unknown", "unwatched",
			"pid %u, which the truth does not describe: record of %" PRIu64 ": %" PRIx64
			"-%" PRIx64 " %.80s",
			record->pid, record->time, record->map.addr, end, record->map.name);
	}
	state->records++;
	impossible = find_impossible_attribute(state, record);
	if (impossible)
		cause = impossible;
	find_time(state, record, &from_ns, &to_ns, &is_live);
	while (!impossible && covered_end < end &&
	       (next = find_right_end(state, record, covered_end, &cause)) > covered_end) {
		covered_end = next;
		if (is_live && covered_end < end && is_border(state, record, covered_end)) {
			cause = "two";
			break;
		}
	}
	if (!impossible && covered_end >= end) {
		if (find_partial_record(state, record, &half))
			return -ENOMEM;
		if (!half && (!record->record || (!is_within(state, record, record->map.addr) &&
						  !is_within(state, record, end))))
			return 0;
		cause = "part";
	}
	state->invented++;
	return jp_findings_count_failure(&state->view->findings, "mappings.invented", cause,
					 "pid %u, record of %" PRIu64 ": %" PRIx64 "-%" PRIx64 " "
					 "offset %" PRIx64 " prot %u flags %x inode %" PRIu64 " "
					 "%.80s: wrong from %" PRIx64 " on",
					 record->pid, record->time, record->map.addr, end,
					 record->map.pgoff, record->map.prot, record->map.flags,
					 record->map.ino, record->map.name, covered_end);
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	return event->type == JP_EVENT_MAP ? judge_record(view->state, event) : 0;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct mapping_records *state = view->state;
	struct jp_findings *findings = &view->findings;

	jp_findings_add_rate(findings, "mappings.invented", state->invented, state->records);
	jp_findings_add_count(findings, "mappings.unknown", state->unknown);
	return 0;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	struct mapping_records *state = view->state;

	if (view->evidence->truth->version < JP_TRUTH_VERSION_MAPS)
		return 1;
	return jp_executables_load(&state->truth, view->evidence->truth, err)
		       ?: find_threads(state);
}

static void free_records(void *context)
{
	struct mapping_records *state = context;

	jp_executables_free(&state->truth);
	jp_map_free(&state->threads);
	jp_mapping_halves_free(&state->halves);
}

JP_DEFINE(validator, mapping_records) = {
	.name = "mapping_records",
	.traits = JP_LACKS_REGISTERS,
	.state_size = sizeof(struct mapping_records),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_records,
};
