/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/format/rundir/capture_info.h"

/* What a capture lost, by the records in its stream; all zero to start with. */
struct jp_losses {
	uint64_t sideband, samples; /* LOST and LOST_SAMPLES */
	uint64_t throttled;         /* times that the kernel stopped an event until the next tick */
};

void jp_losses_see(struct jp_losses *losses, const struct jp_event *event);
/* @info says what the capture counted; the records may know of more. */
void jp_losses_add(const struct jp_losses *losses, struct jp_capture_info *info);
