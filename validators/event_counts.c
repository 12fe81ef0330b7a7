// SPDX-License-Identifier: GPL-2.0-only
/*
 * Event counts: a sampling event counts what it samples, and the kernel gives out both. Of a
 * breakpoint each hit is a sample. A clock counts nanoseconds; it gives a sample at each whole
 * period of the time for which it was on, never sooner.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "harness/base/order.h"
#include "harness/format/perfdata/format.h"
#include "harness/judge/validator.h"

/* A clock that is late by more than a period skips it: what a virtual machine is not given, and
 * interrupts that are off. */
static const double LATE = 0.05;

struct event_counts {
	uint64_t samples, period, lost, forks;
	bool steady, in_kernel, throttled;
};

static int see(struct jp_view *view, const struct jp_event *event)
{
	struct event_counts *counts = view->state;

	switch (event->type) {
	case JP_EVENT_SAMPLE:
		if (!counts->samples++) {
			counts->period = event->sample.period;
			counts->steady = true;
		}
		counts->steady &= counts->period == event->sample.period;
		counts->in_kernel |= !event->sample.user;
		break;
	case JP_EVENT_FORK:
		counts->forks++;
		break;
	case JP_EVENT_LOST:
	case JP_EVENT_LOST_SAMPLES:
		counts->lost += event->lost.lost;
		break;
	default:
		counts->throttled |= event->record_type == JP_PERF_RECORD_THROTTLE;
		break;
	}
	return 0;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct event_counts *counts = view->state;
	const struct jp_capture_info *info = &view->evidence->info;
	const double period = info->breakpoints ? 1 : counts->steady ? (double)counts->period : 0;
	const uint64_t lost = jp_max(counts->lost, info->lost_samples) + info->duplicates;
	/* What each event has begun of a period when it ends is no sample: one for each thread and
	 * each CPU that it ran on. */
	const double events = (double)(info->cpus * (info->threads + counts->forks));
	double most, least;
	const char *cause;

	if (!period)
		return 0;
	most = (double)info->counted / period;
	least = info->breakpoints ? most : most * (1 - LATE) - events;
	/* Time in a kernel that is left out is counted, and has no samples. */
	if (counts->throttled || (!info->breakpoints && !counts->in_kernel))
		least = 0;
	cause = (double)(counts->samples + lost) < least ? "too-few"
		: (double)counts->samples > most         ? "too-many"
							 : NULL;
	if (!cause)
		return 0;
	return jp_findings_except(&view->findings, "event.samples", cause,
				  "%" PRIu64 " samples, and %" PRIu64
				  " that were lost; by what the events counted there are %.1f to "
				  "%.1f",
				  counts->samples, lost, least > 0 ? least : 0, most);
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	/* Other profilers do not say what their events counted, nor did ours always. */
	if (!view->evidence->info.counted)
		return 0;
	view->state = calloc(1, sizeof(struct event_counts));
	return view->state ? 0 : -ENOMEM;
}

static const struct jp_validator event_counts = {
	.name = "event_counts",
	.help = "has the file as many samples as its events counted?",
	.begin = begin,
	.see = see,
	.end = end,
	.free = free,
};
JP_REGISTER(validator, event_counts);
