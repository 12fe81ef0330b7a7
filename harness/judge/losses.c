// SPDX-License-Identifier: GPL-2.0-only
#include "harness/judge/losses.h"

#include "harness/base/order.h"

void jp_losses_count_event(struct jp_losses *losses, const struct jp_event *event)
{
	uint64_t *lost;

	if (event->type == JP_EVENT_THROTTLE)
		losses->nr_throttled++;
	if (event->type != JP_EVENT_LOST && event->type != JP_EVENT_LOST_SAMPLES)
		return;
	/* If one event writes both samples and sideband, the loss may concern either: count it as
	 * lost sideband. A stream of observations states which of them was lost. */
	lost = event->asked && event->asked->sideband &&
			       !(event->observed && event->type == JP_EVENT_LOST_SAMPLES)
		       ? &losses->sideband
		       : &losses->samples;
	if (__builtin_add_overflow(*lost, event->lost.lost, lost))
		*lost = UINT64_MAX;
}

void jp_losses_add(const struct jp_losses *losses, struct jp_capture_info *info)
{
	info->lost_sideband = jp_max(info->lost_sideband, losses->sideband);
	info->lost_samples = jp_max(info->lost_samples, losses->samples);
}
