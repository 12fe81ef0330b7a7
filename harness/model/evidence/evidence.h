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

/* What a run directory holds of one case, besides the capture's own records. */
struct jp_evidence {
	char *dir;
	struct jp_truth *truth;
	struct jp_snapshots snapshots;
	struct jp_capture_info info;
	struct jp_intervals intervals;  /* of a gated capture */
	struct jp_watched_info watched; /* all 0 before version 3 of the truth */
	struct jp_witnessed witnessed;  /* the second clock's samples; none in older runs */
	struct jp_declared declared;    /* what the capture says that it cannot tell */
};

/* Loads @dir: truth, maps, capture, and intervals where they are; the capture must be a file. NULL
 * and a message where one is missing or bad. */
struct jp_evidence *jp_evidence_load(const char *dir, struct jp_error *err);
void jp_evidence_free(struct jp_evidence *evidence);

static inline bool jp_evidence_gated(const struct jp_evidence *evidence)
{
	return evidence->intervals.gate[0] != 0;
}
/* Whether a gate keeps records out as well as samples: with `sideband` they come all the time. */
static inline bool jp_evidence_gates_records(const struct jp_evidence *evidence)
{
	return jp_evidence_gated(evidence) && strcmp(evidence->intervals.gate, "sideband") != 0;
}
/* Whether the witness's samples can be compared with the capture's: breakpoints are no clock. */
static inline bool jp_evidence_is_witnessed(const struct jp_evidence *evidence)
{
	return evidence->watched.witness_since && !evidence->info.breakpoints;
}
/* The maps of @process as read when it announced itself, or NULL. */
const struct jp_snapshot *jp_evidence_announced(const struct jp_evidence *evidence,
						const struct jp_announced *process);
/*
 * The windows in which @pid was watched, one after the other: *@at is 0 at first. Of a gated
 * capture its intervals, without their brackets; of others sampling to stop. False: no more.
 */
bool jp_evidence_window(const struct jp_evidence *evidence, uint32_t pid, size_t *at,
			uint64_t *from, uint64_t *to);
/*
 * From when on the capture can know what came to be in @pid in the bracket [@before, @after]: what
 * does so while the events are on is told at once; what is older the snapshot tells, and until it
 * is taken nobody can ask for that.
 */
uint64_t jp_evidence_told_from(const struct jp_evidence *evidence, uint32_t pid, uint64_t before,
			       uint64_t after);
/*
 * The times in which the capture knows of that, one after the other, as above: where a gate keeps
 * records out, in each interval from its begin on, since it opens on what its snapshot has told.
 */
bool jp_evidence_told_window(const struct jp_evidence *evidence, uint32_t pid, uint64_t before,
			     uint64_t after, size_t *at, uint64_t *from, uint64_t *to);
