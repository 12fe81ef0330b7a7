/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/explainer.h"

/* What LOST and LOST_SAMPLES records tell; all zero to start with. */
struct jp_lost {
	/* By whether the event tells of mappings, too. Kernels that write records of both kinds
	 * tell of the same loss with either. */
	uint64_t records[2], samples[2];
	uint64_t first;    /* time of the first */
	double among;      /* of @records[true], about so many were samples: as of those before */
	uint64_t last[64]; /* by CPU: its last records, a bit each, below a mark; set: samples */
	uint64_t sideband; /* records of mappings and processes since the recording began */
};

void jp_lost_see(struct jp_lost *lost, const struct jp_event *event);
/* Blames the losses themselves. @harm: samples that are known to need a lost record. */
void jp_lost_blame(const struct jp_lost *lost, struct jp_explain_view *view, uint64_t harm);
