/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/model/evidence/evidence.h"

/* Returns the snapshot from which a gate's backfill made record @event, or NULL if the kernel or
 * another tool wrote it. */
const struct jp_snapshot *jp_gate_backfilled(const struct jp_evidence *evidence,
					     const struct jp_event *event);
/* Returns the time at which the state was as @event reports: its own time, or for a backfill's
 * record the time of the reading of the maps. */
uint64_t jp_gate_reported_time(const struct jp_evidence *evidence, const struct jp_event *event);
