/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_LOSSES_H
#define JP_LOSSES_H

#include "harness/format/event.h"
#include "harness/format/rundir/capture_info.h"

/* What each event of a capture lost, by the records in its stream; all zero to start with. */
struct jp_losses {
	struct jp_attr_losses {
		uint64_t lost;
		bool sampled;
	} * attrs; /* by index */
	size_t capacity;
};

/* 0 or -ENOMEM. */
int jp_losses_see(struct jp_losses *losses, const struct jp_event *event);
/* @info says what the capture counted; the records may know of more. An event that gave no sample
 * is the sideband's. */
void jp_losses_add(const struct jp_losses *losses, struct jp_capture_info *info);
void jp_losses_free(struct jp_losses *losses);

#endif
