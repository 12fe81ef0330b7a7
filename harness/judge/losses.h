/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/format/rundir/capture_info.h"

/* Losses that the records of a capture report. Starts as all zero. */
struct jp_losses {
	uint64_t sideband, samples; /* number of lost sideband records, and of lost samples */
	uint64_t nr_throttled; /* number of times that the kernel stopped an event until the next
				* tick
				*/
};

void jp_losses_count_event(struct jp_losses *losses, const struct jp_event *event);
/* Raises the counts of losses in @info, which the capture states itself, to those in its records if
 * these are larger. */
void jp_losses_add(const struct jp_losses *losses, struct jp_capture_info *info);
