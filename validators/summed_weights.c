// SPDX-License-Identifier: GPL-2.0-only
#include "validators/summed_weights.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "validators/two_clocks.h"

static const struct jp_role seen_samples = {.column = "seen"};

static void add_expected_range(struct jp_summed_weight *weight, const struct jp_summed_weight *more)
{
	weight->min_expected += more->min_expected;
	weight->max_expected += more->max_expected;
	weight->expected += more->expected;
	weight->steps += more->steps;
}

static struct jp_summed_weight *get_thread(struct jp_summed_weights *weights, uint32_t pid,
					   uint32_t tid)
{
	return jp_map_at(&weights->threads, (uint64_t)pid << 32 | tid,
			 sizeof(struct jp_summed_weight));
}

int jp_summed_weights_expect(struct jp_summed_weights *weights, const struct jp_evidence *evidence)
{
	const double ratio = jp_clock_compute_ratio(evidence, evidence->declared.period);
	const bool has_threads = !(evidence->declared.lacking & JP_LACKS_THREADS);
	const struct jp_clock_thread *clock;
	struct jp_map clocks = {0};
	uint64_t key;
	int failed = jp_clock_count_by_thread(evidence, &clocks);

	weights->ratio = ratio;
	for (size_t cursor = 0; !failed && (clock = jp_map_next(&clocks, &cursor, &key));) {
		struct jp_summed_weight *thread =
			get_thread(weights, (uint32_t)(key >> 32), has_threads ? (uint32_t)key : 0);
		const struct jp_summed_weight expected = {
			.min_expected = ratio * (double)clock->nr_user,
			.max_expected = ratio * ((double)clock->nr_inside + clock->unseen),
			.expected = ratio * ((double)clock->samples + clock->unseen),
			/* Each visit to native code or to the kernel interrupts the counted
			 * time. */
			.steps = (double)(clock->nr_gaps + clock->samples - clock->nr_user),
		};

		if (!thread)
			failed = -ENOMEM;
		else
			add_expected_range(thread, &expected);
		add_expected_range(&weights->total, &expected);
	}
	jp_map_free(&clocks);
	return failed;
}

int jp_summed_weights_add(struct jp_summed_weights *weights, uint32_t pid, uint32_t tid,
			  uint64_t weight, bool is_inside, bool unknown)
{
	struct jp_summed_weight *thread = get_thread(weights, pid, tid);

	if (!thread)
		return -ENOMEM;
	thread->samples += weight;
	weights->total.samples += weight;
	thread->nr_inside += is_inside ? weight : 0;
	thread->unknown += unknown ? weight : 0;
	weights->total.nr_inside += is_inside ? weight : 0;
	weights->total.unknown += unknown ? weight : 0;
	return 0;
}

double jp_summed_get_least(const struct jp_summed_weight *weight, double ratio)
{
	return weight->min_expected -
	       jp_witness_compute_chance_bound(weight->steps, weight->min_expected, ratio);
}

double jp_summed_get_missing(const struct jp_summed_weight *weight, double ratio)
{
	return fmax(
		weight->expected +
			jp_witness_compute_chance_bound(weight->steps, weight->expected, ratio) -
			(double)weight->samples,
		0);
}

/* Returns the largest number of samples that a stream can have by chance. */
static double count_most_possible_samples(const struct jp_summed_weight *weight, double ratio)
{
	return weight->max_expected +
	       jp_witness_compute_chance_bound(weight->steps, weight->max_expected, ratio) +
	       fmax(1 - ratio, 0) * weight->steps;
}

/* Returns the most samples that can have been in activations. */
static double find_longest_time_inside(const struct jp_summed_weight *weight)
{
	return (double)(weight->nr_inside + weight->unknown);
}

/* Judges each thread. If some threads have too many samples and others too few, the samples were
 * moved. */
static int judge_threads(struct jp_summed_weights *weights, struct jp_findings *findings)
{
	const struct jp_summed_weight *weight, *heaviest = NULL;
	double excess = 0, lack = 0;
	uint64_t key, whose = 0;

	for (size_t cursor = 0; (weight = jp_map_next(&weights->threads, &cursor, &key));) {
		const double excess_weight = (double)weight->nr_inside -
					     count_most_possible_samples(weight, weights->ratio);

		excess += fmax(excess_weight, 0);
		lack += fmax(jp_summed_get_least(weight, weights->ratio) -
				     find_longest_time_inside(weight),
			     0);
		if (excess_weight <= 0 || (heaviest && weight->nr_inside <= heaviest->nr_inside))
			continue;
		heaviest = weight;
		whose = key;
	}
	weights->nr_misplaced = (uint64_t)fmin(excess, lack);
	if (!heaviest || !weights->nr_misplaced)
		return 0;
	return jp_findings_count_failure(
		findings, "cpu.samples", "other-thread",
		"pid %" PRIu64 ", thread %" PRIu64 " has %" PRIu64 " samples, the witness allows "
		"%.1f, and other threads lack %.0f",
		whose >> 32, whose & UINT32_MAX, heaviest->nr_inside, heaviest->max_expected, lack);
}

int jp_summed_weights_judge(struct jp_summed_weights *weights, struct jp_findings *findings)
{
	const struct jp_summed_weight *weight = &weights->total;
	const bool has_too_few =
		find_longest_time_inside(weight) < jp_summed_get_least(weight, weights->ratio);
	const double surplus =
		(double)weight->nr_inside - count_most_possible_samples(weight, weights->ratio);
	const double nr_samples = fmin(fmax((double)weight->nr_inside, weight->min_expected),
				       find_longest_time_inside(weight));
	const double due = fmin(fmax(nr_samples, weight->min_expected), weight->max_expected);
	int failed = judge_threads(weights, findings);
	const double lack =
		(has_too_few ? weight->min_expected - find_longest_time_inside(weight) : 0) +
		(double)weights->nr_misplaced;

	jp_findings_add_count(findings, "cpu.samples", (uint64_t)(nr_samples + 0.5));
	jp_findings_add_count(findings, "cpu.expected", (uint64_t)(due + 0.5));
	jp_findings_add_role_rate(findings, &seen_samples, "witness.seen",
				  (uint64_t)fmax(due - lack + 0.5, 0), (uint64_t)(due + 0.5));
	if (failed)
		return failed;
	if (has_too_few)
		return jp_findings_count_failure(findings, "cpu.samples", "too-few",
						 "%.0f samples; the witness expects at least %.1f",
						 find_longest_time_inside(weight),
						 weight->min_expected);
	weights->surplus = (uint64_t)fmax(surplus, 0);
	if (surplus > 0)
		return jp_findings_count_failure(findings, "cpu.samples", "too-many",
						 "%" PRIu64 " samples; the witness expects at most "
						 "%.1f",
						 weight->nr_inside, weight->max_expected);
	return 0;
}

void jp_summed_weights_free(struct jp_summed_weights *weights)
{
	jp_map_free(&weights->threads);
}
