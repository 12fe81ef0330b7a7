// SPDX-License-Identifier: GPL-2.0-only
#include "harness/judge/losses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"

int jp_losses_see(struct jp_losses *losses, const struct jp_event *event)
{
	size_t known = losses->capacity;

	if (event->type != JP_EVENT_LOST && event->type != JP_EVENT_SAMPLE)
		return 0;
	if (!jp_array_reserve(&losses->attrs, &losses->capacity, event->attr + (size_t)1))
		return -ENOMEM;
	if (losses->capacity > known)
		memset(losses->attrs + known, 0,
		       (losses->capacity - known) * sizeof(*losses->attrs));
	if (event->type == JP_EVENT_LOST)
		losses->attrs[event->attr].lost += event->lost.lost;
	else
		losses->attrs[event->attr].sampled = true;
	return 0;
}

void jp_losses_add(const struct jp_losses *losses, struct jp_capture_info *info)
{
	uint64_t sideband = 0, samples = 0;

	for (size_t i = 0; i < losses->capacity; i++)
		*(losses->attrs[i].sampled ? &samples : &sideband) += losses->attrs[i].lost;
	if (sideband > info->lost_sideband)
		info->lost_sideband = sideband;
	if (samples > info->lost_samples)
		info->lost_samples = samples;
}

void jp_losses_free(struct jp_losses *losses)
{
	free(losses->attrs);
	*losses = (struct jp_losses){0};
}
