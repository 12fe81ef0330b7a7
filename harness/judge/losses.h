/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/format/rundir/capture_info.h"

/* Losses of a capture by its records; starts as all zero. */
struct jp_losses {
	uint64_t sideband, samples; /* LOST and LOST_SAMPLES */
	uint64_t throttled;         /* how often the kernel stopped an event until the next tick */
};

void jp_losses_see(struct jp_losses *losses, const struct jp_event *event);
/* Adds the losses to @info, which has the capture's own counts: the larger count is valid. */
void jp_losses_add(const struct jp_losses *losses, struct jp_capture_info *info);
