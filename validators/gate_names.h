/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/model/evidence/evidence.h"

/* Returns the snapshot from which a gate's backfill made record @event, or NULL if the kernel or
 * another tool wrote it. */
const struct jp_snapshot *jp_gate_find_backfill(const struct jp_evidence *evidence,
						const struct jp_event *event);
/* Returns the time of the state that @event reports: the event's own time, or, for a record of a
 * backfill, the time at which the process's maps were read. */
uint64_t jp_gate_reported_time(const struct jp_evidence *evidence, const struct jp_event *event);
