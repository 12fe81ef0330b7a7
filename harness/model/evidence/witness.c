// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/evidence/witness.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"
#include "harness/format/capture/capture_read.h"
#include "harness/format/perfdata/format.h"
#include "harness/format/perfdata/read.h"

/* A THROTTLE or UNTHROTTLE record of a thread. */
struct change {
	uint64_t time;
	uint32_t tid;
	bool stops;
};

struct loading {
	struct jp_witnessed *witnessed;
	size_t capacity;
	struct change *changes;
	size_t nr_changes, changes_capacity;
	const char *path;
	struct jp_error *err;
};

static int note_change(struct loading *loading, const struct jp_event *event)
{
	struct change *change =
		jp_array_push(&loading->changes, &loading->nr_changes, &loading->changes_capacity);

	if (!change)
		return jp_fail(loading->err, ENOMEM, "%s: out of memory", loading->path);
	*change = (struct change){event->time, event->tid,
				  event->record_type == JP_PERF_RECORD_THROTTLE};
	return 0;
}

static int visit_record(void *context, const struct jp_event *event)
{
	struct loading *loading = context;
	struct jp_witnessed *witnessed = loading->witnessed;
	struct jp_witness_sample *sample;

	if (event->record_type == JP_PERF_RECORD_THROTTLE ||
	    event->record_type == JP_PERF_RECORD_UNTHROTTLE)
		return note_change(loading, event);
	if (event->type != JP_EVENT_SAMPLE)
		return 0;
	if (event->attr || !event->asked || !event->asked->period || !event->asked->timed ||
	    !event->asked->threads || !event->asked->cpus)
		return jp_fail(loading->err, EINVAL,
			       "%s: offset %llu: expected samples of one event with a period, each "
			       "with its time, thread and CPU",
			       loading->path, (unsigned long long)event->file_offset);
	sample = jp_array_push(&witnessed->samples, &witnessed->count, &loading->capacity);
	if (!sample)
		return jp_fail(loading->err, ENOMEM, "%s: out of memory", loading->path);
	witnessed->period = event->asked->period;
	*sample = (struct jp_witness_sample){.time = event->time,
					     .ip = event->sample.ip,
					     .pid = event->pid,
					     .tid = event->tid,
					     .cpu = event->cpu,
					     .user = event->sample.user};
	return 0;
}

JP_ORDER(compare_by_thread, struct jp_witness_sample,
	 jp_compare(a->tid, b->tid) ?: jp_compare(a->time, b->time));

/* The sample at which the kernel stops the event follows its THROTTLE record, in the same
 * interrupt. The UNTHROTTLE record follows the last sample before the stop. */
static void mark_throttled(const struct loading *loading)
{
	struct jp_witnessed *witnessed = loading->witnessed;

	for (size_t n = 0; n < loading->nr_changes; n++) {
		const struct change *change = &loading->changes[n];
		size_t i = jp_witnessed_find_first_from(witnessed, change->tid, change->time);

		witnessed->throttles += change->stops;
		if (!change->stops && i-- == 0)
			continue;
		if (i < witnessed->count && witnessed->samples[i].tid == change->tid)
			witnessed->samples[i].throttled = true;
	}
}

int jp_witnessed_load(struct jp_witnessed *witnessed, const char *path, struct jp_error *err)
{
	struct loading loading = {.witnessed = witnessed, .path = path, .err = err};
	struct jp_perfdata_summary summary;
	int ret = jp_capture_check(path, err)
			  ?: jp_perfdata_read(path, visit_record, &loading, &summary, err);

	if (!ret)
		jp_sort(witnessed->samples, witnessed->count, compare_by_thread);
	if (!ret)
		mark_throttled(&loading);
	free(loading.changes);
	return ret;
}

void jp_witnessed_free(struct jp_witnessed *witnessed)
{
	free(witnessed->samples);
}

size_t jp_witnessed_find_first_from(const struct jp_witnessed *witnessed, uint32_t tid,
				    uint64_t time)
{
	const struct jp_witness_sample *samples = witnessed->samples;
	size_t i;

	jp_search(i, witnessed->count,
		  samples[i].tid < tid || (samples[i].tid == tid && samples[i].time < time));
	return i;
}

uint64_t jp_witnessed_throttled(const struct jp_witnessed *witnessed, size_t i)
{
	const struct jp_witness_sample *sample = &witnessed->samples[i];

	if (i >= witnessed->count || !sample->throttled)
		return 0;
	return i + 1 < witnessed->count && sample[1].tid == sample->tid
		       ? sample[1].time - sample->time
		       : JP_THROTTLED_NS;
}

/* Number of samples by which the phases of both clocks at the start and the end of a stretch can
 * change a count. */
static const double ENDS = 2;
/* The bounds below fail with a probability of exp(-K * K / 2), which is 5 * 10^-7. */
static const double K = 5.39;
/* Largest variance that one interruption adds to the difference of the counts, in samples squared.
 * A context switch makes each clock's phase uniform over its period: (1 + ratio^2) / 6. A stall as
 * long as the witness's period delays a sample of the witness for certain, and one of the capture
 * with probability @ratio: ratio * (1 - ratio). */
static const double VARIANCE = 0.25;
/* An interruption shifts a timer's phase by less than a period, so a count changes by one sample at
 * most. Hoeffding's inequality bounds the sum by that range, and Bernstein's by the variance; the
 * smaller bound applies. The samples in a time span are a sum of events whose variance is at most
 * their mean, however many interruptions there are. */
double jp_witness_compute_chance_bound(double steps, double expected, double ratio)
{
	const double variance = fmin(VARIANCE * (steps + 1), (1 + ratio) * expected + 1);
	const double range = K * K * (1 + fmin(ratio, 1)) / 3;
	const double bernstein = (range + sqrt(range * range + 4 * K * K * variance)) / 2;

	return fmax(ratio, 1) * (ENDS + fmin(K * sqrt(steps + 1), bernstein));
}

double jp_witness_count_steps_of_exchanges(double gaps, double ratio)
{
	return gaps * fmax(ratio * (1 + ratio) / VARIANCE, 1);
}

/* Uses Chernoff's bound of a binomial distribution. */
bool jp_witness_is_beyond_chance(uint64_t larger, uint64_t smaller, double odds)
{
	const double total = (double)larger + (double)smaller, share = odds / (1 + odds);
	double exponent = 0;

	if ((double)larger <= odds * (double)smaller)
		return false;
	exponent += (double)larger * log((double)larger / (total * share));
	exponent += smaller ? (double)smaller * log((double)smaller / (total * (1 - share))) : 0;
	return exponent > K * K / 2;
}
