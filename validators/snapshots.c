// SPDX-License-Identifier: GPL-2.0-only
/* Snapshots: each snapshot of /proc/PID/maps must show exactly the memory that was executable while
 * the capture read it. No snapshot may be missing, and each executable line must have a record. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/digest.h"
#include "harness/base/map.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/executable_load.h"
#include "validators/mapping_compare.h"

struct shown {
	struct jp_view *view;
	struct jp_executables truth;
	struct jp_map recorded; /* digests of synthesized records */
	uint64_t stretches, missing, lines, invented;
	bool must_record; /* the capture is jitproof's own: each line must have a record */
};

/* Returns whether the mapping @executable existed during the whole time of @snapshot (if @surely),
 * or may have existed at some time of it. */
static bool existed_during(const struct shown *state, const struct jp_executable *executable,
			   const struct jp_snapshot *snapshot, bool surely)
{
	const uint64_t slack = state->view->evidence->info.slack;
	const uint64_t opened = surely ? executable->open_after : executable->open_before;
	const uint64_t closed = surely ? executable->close_before : executable->close_after;
	const uint64_t from_ns = surely ? snapshot->before : snapshot->after + slack;
	const uint64_t to_ns = surely ? snapshot->after + slack : snapshot->before;

	return opened + (surely ? slack : 0) <= from_ns &&
	       (closed == UINT64_MAX || to_ns <= closed + (surely ? 0 : slack));
}

static bool is_same(const struct shown *state, const struct jp_executable *executable,
		    const struct jp_procmap *line)
{
	const struct jp_procmap *own = state->truth.memories[executable->memory].line;

	return line->prot == executable->prot && (!own || own->shared == line->shared);
}

/* Returns the end of the longest part at the start of @executable that the lines of @snapshot show.
 */
static uint64_t find_shown_end(const struct shown *state, const struct jp_snapshot *snapshot,
			       const struct jp_executable *executable)
{
	const struct jp_procmap *line;
	uint64_t addr = executable->start;

	while (addr < executable->end && (line = jp_snapshot_executable(snapshot, addr)) &&
	       is_same(state, executable, line))
		addr = line->end;
	return addr;
}

/* Returns the end of the longest part at the start of @line that may have been executable. */
static uint64_t find_right_end(const struct shown *state, const struct jp_snapshot *snapshot,
			       const struct jp_procmap *line)
{
	const struct jp_executable *executable;
	uint64_t covered_end = line->start;
	size_t cursor = SIZE_MAX;

	while ((executable = jp_executables_next(&state->truth, snapshot->pid, line->start,
						 line->end, &cursor)))
		if (executable->start <= covered_end && executable->end > covered_end &&
		    is_same(state, executable, line) &&
		    existed_during(state, executable, snapshot, false))
			covered_end = executable->end;
	return covered_end;
}

/* Returns the digest of the mapping record that jitproof synthesizes from a line of maps. */
static uint64_t digest_line(uint32_t pid, uint64_t start, uint64_t end, uint64_t offset,
			    uint64_t prot, bool is_shared, uint64_t maj, uint64_t min, uint64_t ino,
			    const char *name)
{
	const uint64_t words[] = {pid, start, end, offset, prot, is_shared, maj, min, ino};

	return jp_digest_bytes(jp_digest_bytes(0, words, sizeof(words)), name, strlen(name));
}

/* Stores the digests of synthesized records: they have time 0 or the time of the snapshot, and no
 * inode generation. */
static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct shown *state = view->state;

	if (event->type != JP_EVENT_MAP || event->map.gen || !event->map.has_identity ||
	    (event->time &&
	     !jp_snapshots_cover_time(&view->evidence->snapshots, event->pid, event->time)))
		return 0;
	return jp_map_at(&state->recorded,
			 digest_line(event->pid, event->map.addr, event->map.addr + event->map.len,
				     event->map.pgoff, event->map.prot,
				     jp_mapping_is_shared(event->map.flags), event->map.maj,
				     event->map.min, event->map.ino, event->map.name),
			 sizeof(uint64_t))
		       ? 0
		       : -ENOMEM;
}

/* Returns whether @line has a record, or needs none. */
static bool is_recorded(const struct shown *state, const struct jp_snapshot *snapshot,
			const struct jp_procmap *line)
{
	const bool paths =
		strcmp(state->view->evidence->info.policy, jp_synth_text(JP_SYNTH_PATHS)) == 0;

	return !state->must_record || (paths && !*line->name) ||
	       jp_map_find(&state->recorded,
			   digest_line(snapshot->pid, line->start, line->end, line->offset,
				       line->prot, line->shared == 's', line->maj, line->min,
				       line->ino, *line->name ? line->name : "//anon"));
}

static int report(struct shown *state, const char *metric, const char *cause,
		  const struct jp_snapshot *snapshot, uint64_t start, uint64_t end,
		  uint64_t covered_end)
{
	return jp_findings_count_failure(&state->view->findings, metric, cause,
					 "pid %u, read from %" PRIu64 " to %" PRIu64 ": %" PRIx64
					 "-%" PRIx64 " from %" PRIx64 " on",
					 snapshot->pid, snapshot->before, snapshot->after, start,
					 end, covered_end);
}

static int judge_snapshot(struct shown *state, const struct jp_snapshot *snapshot)
{
	const struct jp_executable *executable;
	size_t cursor = SIZE_MAX;
	int failed = 0;

	while (!failed && (executable = jp_executables_next(&state->truth, snapshot->pid, 0,
							    UINT64_MAX, &cursor))) {
		uint64_t covered_end = find_shown_end(state, snapshot, executable);

		if (!existed_during(state, executable, snapshot, true))
			continue;
		state->stretches++;
		if (covered_end >= executable->end)
			continue;
		state->missing++;
		failed = report(state, "snapshots.missing", "not-shown", snapshot,
				executable->start, executable->end, covered_end);
	}
	for (size_t i = 0; !failed && i < snapshot->count; i++) {
		const struct jp_procmap *line = &snapshot->maps[i];
		uint64_t covered_end;

		if (!(line->prot & JP_PROT_EXEC))
			continue;
		state->lines++;
		if (!is_recorded(state, snapshot, line)) {
			state->missing++;
			failed = report(state, "snapshots.missing", "not-told", snapshot,
					line->start, line->end, line->start);
		}
		covered_end = find_right_end(state, snapshot, line);
		if (failed || covered_end >= line->end)
			continue;
		state->invented++;
		failed = report(state, "snapshots.invented", "not-there", snapshot, line->start,
				line->end, covered_end);
	}
	return failed;
}

/* Returns whether the truth has maps of the process. */
static bool has_mark(const struct shown *state, const struct jp_snapshot *snapshot)
{
	for (size_t i = 0; i < state->truth.nr_marks; i++)
		if (state->truth.marks[i].pid == snapshot->pid)
			return true;
	return false;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct jp_evidence *evidence = view->evidence;
	const struct jp_snapshots *snapshots = &evidence->snapshots;
	struct shown *state = view->state;
	int failed = 0;

	/* Our captures state how many snapshots they took. */
	if (snapshots->count < evidence->info.snapshots) {
		state->missing++;
		state->stretches++;
		failed = jp_findings_count_failure(
			&view->findings, "snapshots.missing", "no-snapshot",
			"the capture read %" PRIu64 " snapshots of maps, the case has %zu",
			evidence->info.snapshots, snapshots->count);
	}
	for (size_t i = 0; !failed && i < snapshots->count; i++)
		if (has_mark(state, &snapshots->list[i]))
			failed = judge_snapshot(state, &snapshots->list[i]);
	jp_findings_add_rate(&view->findings, "snapshots.missing", state->missing,
			     state->stretches);
	jp_findings_add_rate(&view->findings, "snapshots.invented", state->invented, state->lines);
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	struct shown *state = view->state;

	if (view->evidence->truth->version < JP_TRUTH_VERSION_MAPS)
		return 1;
	/* A gate records only mappings that the capture does not have yet. */
	state->must_record = view->evidence->info.first_enabled &&
			     !jp_evidence_is_gated(view->evidence) &&
			     strcmp(view->evidence->info.policy, jp_synth_text(JP_SYNTH_NONE)) != 0;
	return jp_executables_load(&state->truth, view->evidence->truth, err);
}

static void free_shown(void *state)
{
	struct shown *shown = state;

	jp_executables_free(&shown->truth);
	jp_map_free(&shown->recorded);
}

JP_DEFINE(validator, snapshots_validator) = {
	.name = "snapshots",
	.state_size = sizeof(struct shown),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_shown,
};
