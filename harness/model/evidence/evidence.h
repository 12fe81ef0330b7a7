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
	struct jp_intervals intervals;  /* for a gated capture */
	struct jp_watched_info watched; /* all 0 before version 3 of the truth */
	struct jp_witnessed witnessed;  /* samples of the second clock; none in older runs */
	struct jp_declared declared;    /* what the capture declares to lack */
};

/* Loads from @dir the truth, maps, capture, and intervals if they exist; the capture must be a
 * file. Returns NULL and a message if a file is missing or bad. */
struct jp_evidence *jp_evidence_load(const char *dir, struct jp_error *err);
void jp_evidence_free(struct jp_evidence *evidence);

static inline bool jp_evidence_gated(const struct jp_evidence *evidence)
{
	return evidence->intervals.gate[0] != 0;
}
/* Returns whether the gate keeps records out as well as samples. `sideband` keeps records. */
static inline bool jp_evidence_gates_records(const struct jp_evidence *evidence)
{
	return jp_evidence_gated(evidence) && strcmp(evidence->intervals.gate, "sideband") != 0;
}
/* Returns whether the witness's samples can be compared with the capture's. Breakpoints are not a
 * clock. */
static inline bool jp_evidence_is_witnessed(const struct jp_evidence *evidence)
{
	return evidence->watched.witness_since && !evidence->info.breakpoints;
}
/* Returns the maps of @process as read at its announcement, or NULL. */
const struct jp_snapshot *jp_evidence_announced(const struct jp_evidence *evidence,
						const struct jp_announced *process);
/* Stores the next window, in ns, in which @pid was watched; *@at starts as 0. In a gated capture
 * each interval, without its brackets, is a window. Any other capture has a single window, from
 * sampling to stop. Returns false after the last. */
bool jp_evidence_window(const struct jp_evidence *evidence, uint32_t pid, size_t *at,
			uint64_t *from, uint64_t *to);
/* Returns the time in ns from which the capture can know a change of @pid that happened in the
 * bracket [@before, @after]. While events are enabled, the kernel records it at once. Older state
 * comes from the snapshot. */
uint64_t jp_evidence_known_from(const struct jp_evidence *evidence, uint32_t pid, uint64_t before,
				uint64_t after);
/* Stores the next time range in which the capture knows such a change, as jp_evidence_window()
 * does. If a gate keeps records out, each interval starts with its own snapshot and so is a
 * range. */
bool jp_evidence_known_window(const struct jp_evidence *evidence, uint32_t pid, uint64_t before,
			      uint64_t after, size_t *at, uint64_t *from, uint64_t *to);
/* Returns when the process began that is @pid at @time (UINT64_MAX: the last one); 0: it is the
 * workload's first process, or not known. */
uint64_t jp_evidence_start(const struct jp_evidence *evidence, uint32_t pid, uint64_t time);
/* Returns whether the workload had started the process that is @pid at @time (UINT64_MAX: the last
 * one), and is not its first process, before the capture was enabled: an attach does not watch
 * it. */
bool jp_evidence_is_older(const struct jp_evidence *evidence, uint32_t pid, uint64_t time);
