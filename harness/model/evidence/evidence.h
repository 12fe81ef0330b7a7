/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <string.h>

#include "harness/base/error.h"
#include "harness/format/observations/declared.h"
#include "harness/format/rundir/capture_info.h"
#include "harness/format/rundir/intervals.h"
#include "harness/format/rundir/snapshots.h"
#include "harness/format/rundir/watched.h"
#include "harness/model/evidence/witness.h"
#include "harness/model/oracle/truth.h"

/* Contents of one case's run directory, except the capture's own records. */
struct jp_evidence {
	char *dir;
	struct jp_truth *truth;
	struct jp_snapshots snapshots;
	struct jp_capture_info info;
	struct jp_intervals intervals;  /* only for a gated capture, which samples in intervals */
	struct jp_watched_info watched; /* all 0 if the truth has a version before 3 */
	struct jp_witnessed witnessed;  /* samples of the witness, a second clock on the same
					   threads; older runs have none */
	struct jp_declared declared;    /* the kinds of data that the capture declares to lack */
};

/* Loads from run directory @dir the truth, the snapshots of maps, the capture's facts about itself,
 * and the intervals if that file exists. The capture must be a regular file. Returns NULL and a
 * message if a file is missing or invalid. */
struct jp_evidence *jp_evidence_load(const char *dir, struct jp_error *err);
void jp_evidence_free(struct jp_evidence *evidence);

static inline bool jp_evidence_is_gated(const struct jp_evidence *evidence)
{
	return evidence->intervals.gate[0] != 0;
}
/* Returns whether the gate stops mapping records as well as samples between intervals. The gate
 * `sideband` stops only samples. */
static inline bool jp_evidence_gates_records(const struct jp_evidence *evidence)
{
	return jp_evidence_is_gated(evidence) && strcmp(evidence->intervals.gate, "sideband") != 0;
}
/* Returns whether the witness's samples can be compared with the capture's: not if the capture
 * samples by breakpoints, which are no clock. */
static inline bool jp_evidence_is_witnessed(const struct jp_evidence *evidence)
{
	return evidence->watched.witness_since && !evidence->info.breakpoints;
}
/* Returns the maps that the capture read when @process announced itself, or NULL. */
const struct jp_snapshot *
jp_evidence_find_snapshot_at_announcement(const struct jp_evidence *evidence,
					  const struct jp_announced *process);
/* Stores the next time window, in ns, in which the capture watched @pid. *@cursor starts as 0. In a
 * gated capture each interval, without its brackets, is a window. Any other capture has a single
 * window, from the start of sampling to the stop. Returns false after the last. */
bool jp_evidence_next_window(const struct jp_evidence *evidence, uint32_t pid, size_t *cursor,
			     uint64_t *window_start, uint64_t *window_end);
/* Returns the time in ns from which the capture can know a change of @pid that happened between
 * @before and @after. The kernel records a change at once while events are enabled; the capture
 * knows an older change from the snapshot. */
uint64_t jp_evidence_get_time_known_from(const struct jp_evidence *evidence, uint32_t pid,
					 uint64_t before, uint64_t after);
/* Stores the next time range in which the capture can know such a change (see
 * jp_evidence_get_time_known_from()), like jp_evidence_next_window(). If a gate stops records, each
 * interval starts with its own snapshot and is such a range. */
bool jp_evidence_next_known_window(const struct jp_evidence *evidence, uint32_t pid,
				   uint64_t before, uint64_t after, size_t *cursor,
				   uint64_t *window_start, uint64_t *window_end);
/* Returns the time at which the process started that has @pid at @time (UINT64_MAX: the last
 * process with that pid). Returns 0 if it is the workload's first process, or unknown. */
uint64_t jp_evidence_get_process_start(const struct jp_evidence *evidence, uint32_t pid,
				       uint64_t time);
/* Returns the exec that started the workload, or NULL if the truth has none. */
const struct jp_event *jp_evidence_get_launch(const struct jp_evidence *evidence);
/* Returns whether the process that has @pid at @time (UINT64_MAX: the last one) started before the
 * capture was enabled and is not the workload's first process. A capture that attaches does not
 * watch such a process. */
bool jp_evidence_is_process_older(const struct jp_evidence *evidence, uint32_t pid, uint64_t time);
