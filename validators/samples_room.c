// SPDX-License-Identifier: GPL-2.0-only
/* Room for other samples: a capture of all CPUs contains samples of other processes. Computes how
 * many samples the events can take of the CPUs besides those of the workload. Cases use this figure
 * as a bound.
 */
#include <errno.h>
#include <math.h>

#include "harness/base/map.h"
#include "harness/judge/validator.h"
#include "validators/sample_class.h"

/* Highest ratio of an event's clock to CLOCK_MONOTONIC: the kernel slews the latter by at most 500
 * ppm of frequency and as much of offset (MAXFREQ and MAX_TICKADJ in kernel/time/ntp.c). */
static const double FASTER = 1.001;
/* Number of additional samples that each event takes of a CPU at the two ends of the range of
 * times. */
enum { ENDS = 2 };

struct samples_room {
	struct jp_view *view;
	uint64_t first, last; /* times of the first and last sample, also of tasks outside of the
				 recorder's pid namespace, which have the number 0 */
	uint64_t watched;     /* number of samples of the workload */
	uint64_t period;      /* period in ns; 0: it varies */
	struct jp_map events; /* the events that have samples, by index of the attr; no values */
	bool is_sampled;
};

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct samples_room *room = view->state;

	if (event->type != JP_EVENT_SAMPLE || !event->time)
		return 0;
	if (!room->is_sampled)
		room->period = event->sample.period;
	if (room->period != event->sample.period)
		room->period = 0;
	room->first = room->is_sampled ? room->first : event->time;
	room->last = event->time;
	room->is_sampled = true;
	room->watched += jp_sample_is_watched(view->evidence, event->pid, UINT64_MAX);
	return jp_map_at(&room->events, event->attr, 0) ? 0 : -ENOMEM;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct samples_room *room = view->state;
	const double cpus = (double)view->evidence->watched.cpus;
	double max_samples;

	if (!room->period || !cpus)
		return 0;
	max_samples = (double)room->events.count * cpus *
		      (ENDS + FASTER * (double)(room->last - room->first) / (double)room->period);
	jp_findings_add_count(&view->findings, "samples.room",
			      (uint64_t)fmax(max_samples - (double)room->watched, 0));
	return 0;
}

static void free_room(void *context)
{
	struct samples_room *room = context;

	jp_map_free(&room->events);
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	return view->evidence->info.breakpoints || view->evidence->declared.observed;
}

JP_DEFINE(validator, samples_room) = {
	.name = "samples_room",
	.traits = JP_LACKS_ALL & ~(JP_LACKS_TIME | JP_LACKS_THREADS),
	.state_size = sizeof(struct samples_room),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_room,
};
