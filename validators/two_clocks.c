// SPDX-License-Identifier: GPL-2.0-only
#include "validators/two_clocks.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"
#include "harness/model/oracle/oracle.h"

int jp_cpu_times_add(struct jp_cpu_times *times, uint32_t cpu, uint64_t time)
{
	return jp_array_append(&times->times, &times->count, &times->capacity,
			       (struct jp_cpu_time){cpu, time});
}

JP_ORDER(compare_by_cpu, struct jp_cpu_time,
	 jp_compare(a->cpu, b->cpu) ?: jp_compare(a->time, b->time));

void jp_cpu_times_sort(struct jp_cpu_times *times)
{
	jp_sort(times->times, times->count, compare_by_cpu);
}

size_t jp_cpu_times_find_after(const struct jp_cpu_times *times, uint32_t cpu, uint64_t time)
{
	const struct jp_cpu_time limit = {cpu, time};
	size_t i;

	jp_search(i, times->count, compare_by_cpu(&times->times[i], &limit) <= 0);
	return i;
}

uint64_t jp_cpu_times_get_next(const struct jp_cpu_times *times, uint32_t cpu, uint64_t time)
{
	const size_t i = jp_cpu_times_find_after(times, cpu, time);

	return i < times->count && times->times[i].cpu == cpu ? times->times[i].time : UINT64_MAX;
}

void jp_cpu_times_free(struct jp_cpu_times *times)
{
	free(times->times);
	*times = (struct jp_cpu_times){0};
}

bool jp_clock_was_watched(const struct jp_evidence *evidence, uint32_t pid, uint64_t from_ns,
			  uint64_t to_ns)
{
	const uint64_t slack = evidence->info.slack, start_time = evidence->watched.witness_since;
	const uint64_t start = jp_evidence_get_process_start(evidence, pid, from_ns);
	uint64_t begin, end;

	/* An attach samples no process that began before the sampling. Its pid may be that of a
	 * later process, which the attach samples. */
	if (start && start < evidence->info.sampling &&
	    jp_evidence_get_process_start(evidence, pid, UINT64_MAX) >= evidence->info.sampling)
		return false;
	for (size_t cursor = 0; from_ns >= start_time &&
				jp_evidence_next_window(evidence, pid, &cursor, &begin, &end);)
		if (from_ns >= begin + slack && to_ns + slack <= end)
			return true;
	return false;
}

static bool is_contiguous(const struct jp_witnessed *witnessed,
			  const struct jp_witness_sample *sample,
			  const struct jp_witness_sample *next)
{
	return sample->tid == next->tid && sample->pid == next->pid && sample->cpu == next->cpu &&
	       (double)(next->time - sample->time) <= JP_WITNESS_GAP * (double)witnessed->period;
}

/* Returns for how many ns the kernel throttled the witness after its sample @i. Times shorter than
 * a gap count as 0. */
static uint64_t get_throttled_time_after(const struct jp_witnessed *witnessed, size_t i)
{
	const uint64_t time = jp_witnessed_throttled(witnessed, i);

	return (double)time > JP_WITNESS_GAP * (double)witnessed->period ? time : 0;
}

bool jp_clock_was_throttled(const struct jp_evidence *evidence, uint32_t tid, uint64_t time)
{
	const struct jp_witnessed *witnessed = &evidence->witnessed;
	const size_t next = jp_witnessed_find_first_from(witnessed, tid, time);
	const struct jp_witness_sample *last = next ? &witnessed->samples[next - 1] : NULL;

	return last && last->tid == tid &&
	       time - last->time < get_throttled_time_after(witnessed, next - 1);
}

struct jp_clock_time jp_clock_get_sampled_time(const struct jp_evidence *evidence)
{
	return (struct jp_clock_time){jp_min(evidence->watched.started, evidence->info.sampling),
				      jp_max(evidence->watched.ended, evidence->info.stopped)};
}

int jp_clock_count_by_thread(const struct jp_evidence *evidence, struct jp_map *threads)
{
	const struct jp_witnessed *witnessed = &evidence->witnessed;
	const bool is_timeless = evidence->declared.lacking & JP_LACKS_TIME;
	const struct jp_clock_time sampled_time = jp_clock_get_sampled_time(evidence);
	const uint64_t slack = evidence->info.slack;
	const struct jp_truth_activation *activation = NULL;

	for (size_t i = 0; i < witnessed->count; i++) {
		const struct jp_witness_sample *sample = &witnessed->samples[i];
		struct jp_clock_thread *thread =
			jp_map_at(threads, jp_clock_key(sample->pid, sample->tid), sizeof(*thread));
		/* Do not count the first sample after throttling: its time is left out. */
		const bool counts = !i || sample[-1].tid != sample->tid ||
				    !get_throttled_time_after(witnessed, i - 1);
		const bool is_watched =
			jp_clock_was_watched(evidence, sample->pid, sample->time, sample->time);

		if (!thread)
			return -ENOMEM;
		activation = jp_truth_activation_at(evidence->truth, activation, sample->tid,
						    sample->time + slack);
		thread->samples += is_watched && counts;
		thread->nr_gaps +=
			is_watched && (!i || !is_contiguous(witnessed, sample - 1, sample));
		thread->unseen +=
			(double)get_throttled_time_after(witnessed, i) / (double)witnessed->period;
		thread->nr_near += is_watched && i && sample[-1].tid == sample->tid &&
				   sample[-1].pid == sample->pid &&
				   jp_clock_are_samples_near(sample->time - sample[-1].time,
							     witnessed->period);
		if (!counts || !activation || sample->time > activation->leave + slack)
			continue;
		thread->nr_inside += is_timeless ? sample->time >= sampled_time.earliest &&
							   sample->time <= sampled_time.latest
						 : is_watched;
		thread->nr_user += is_watched && sample->user && activation->cpu != UINT64_MAX &&
				   sample->time >= activation->enter + slack &&
				   sample->time + slack <= activation->leave;
	}
	return 0;
}

void jp_clock_add_counts(struct jp_clock_thread *sum, const struct jp_clock_thread *more)
{
	sum->samples += more->samples;
	sum->nr_gaps += more->nr_gaps;
	sum->nr_near += more->nr_near;
	sum->nr_inside += more->nr_inside;
	sum->nr_user += more->nr_user;
	sum->unseen += more->unseen;
}

uint64_t jp_clock_count_witness_samples(const struct jp_evidence *evidence,
					const struct jp_truth_activation *activation,
					struct jp_clock_time time)
{
	const struct jp_witnessed *witnessed = &evidence->witnessed;
	const uint64_t from_ns = jp_max(time.earliest, activation->enter);
	const uint64_t to_ns = jp_min(time.latest, activation->leave);

	return to_ns <= from_ns
		       ? 0
		       : jp_witnessed_find_first_from(witnessed, activation->tid, to_ns) -
				 jp_witnessed_find_first_from(witnessed, activation->tid, from_ns);
}

double jp_clock_compute_ratio(const struct jp_evidence *evidence, uint64_t period)
{
	return period && evidence->watched.witness_since
		       ? (double)evidence->witnessed.period / (double)period
		       : 0;
}

uint64_t jp_clock_count_expected_samples(const struct jp_evidence *evidence)
{
	const struct jp_clock_time window = {evidence->info.sampling, evidence->info.stopped};
	const struct jp_truth *truth = evidence->truth;
	uint64_t samples = 0;

	for (size_t i = 0; i < truth->nr_activations; i++)
		samples += jp_clock_count_witness_samples(evidence, &truth->activations[i], window);
	return (uint64_t)((double)samples *
			  jp_clock_compute_ratio(evidence, evidence->declared.period));
}
