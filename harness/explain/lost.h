/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/explainer.h"

/* Losses that LOST and LOST_SAMPLES records report; starts as all zero. */
struct jp_lost {
	/* Indexed by whether the event also reports mappings. Kernels that write both kinds of
	 * record report the same loss in each. */
	uint64_t records[2], samples[2];
	uint64_t first;    /* time of the first loss */
	double among;      /* estimated number of samples in @records[true] */
	uint64_t last[64]; /* by CPU: one bit for each of the last records, 1 for a sample; the
			      highest set bit marks the end */
	uint64_t sideband; /* written records of mappings and processes */
};

void jp_lost_handle(struct jp_lost *lost, const struct jp_event *event);
/* Blames lost records and samples. @harm: number of samples that certainly need a lost record. */
void jp_lost_blame(const struct jp_lost *lost, struct jp_explain_view *view, uint64_t harm);
