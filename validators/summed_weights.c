// SPDX-License-Identifier: GPL-2.0-only
#include "validators/summed_weights.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "harness/base/order.h"
#include "harness/judge/validator.h"

/* As validators/cpu_time.c has it: what the event misses, and what chance does. */
static const double OFF = 0.16, SIGMAS = 4.5;

static const struct jp_role seen_samples = {.column = "seen"};
static const struct jp_role true_samples = {.column = "seen", .total = true};

/* What an activation took from @from to @to, at least and at most: where it reaches beyond, nobody
 * knows when it was on a CPU; and who was killed inside has not told. */
static double taken(const struct jp_truth_activation *one, uint64_t from, uint64_t to, bool most)
{
	const bool told = one->cpu != UINT64_MAX;
	double inside;

	from = jp_max(from, one->enter);
	to = jp_min(to, one->leave);
	if (to <= from)
		return 0;
	inside = (double)(to - from);
	if (most)
		return told ? fmin((double)one->cpu, inside) : inside;
	return told ? fmax((double)one->cpu - ((double)(one->leave - one->enter) - inside), 0) : 0;
}

/* From the moment the runner asked for it until the profiler had ended, for sums have no time. */
double jp_summed_taken(const struct jp_evidence *evidence, const struct jp_truth_activation *one)
{
	const struct jp_capture_info *info = &evidence->info;
	const struct jp_watched_info *watched = &evidence->watched;

	if (!watched->started)
		return taken(one, 0, UINT64_MAX, true);
	return taken(one, jp_min(watched->started, info->sampling),
		     jp_max(watched->ended, info->stopped), true);
}

static struct jp_summed_weight *thread_of(struct jp_summed_weights *weights, uint32_t pid,
					  uint32_t tid)
{
	return jp_map_at(&weights->threads, (uint64_t)pid << 32 | tid,
			 sizeof(struct jp_summed_weight));
}

/* Samples that the CPU time says: at least within the window, and at most. */
int jp_summed_weights_due(struct jp_summed_weights *weights, const struct jp_evidence *evidence)
{
	const struct jp_truth *truth = evidence->truth;
	const double period = (double)evidence->declared.period;
	const bool has_threads = !(evidence->declared.lacks & JP_LACKS_THREADS);

	for (size_t i = 0; i < truth->nr_activations; i++) {
		const struct jp_truth_activation *one = &truth->activations[i];
		struct jp_summed_weight *thread =
			thread_of(weights, one->pid, has_threads ? one->tid : 0);
		const double least =
			taken(one, evidence->info.sampling, evidence->info.stopped, false);
		const double most = jp_summed_taken(evidence, one);

		if (!thread)
			return -ENOMEM;
		thread->least += least / period;
		thread->most += most / period;
		weights->all.least += least / period;
		weights->all.most += most / period;
	}
	return 0;
}

int jp_summed_weights_add(struct jp_summed_weights *weights, uint32_t pid, uint32_t tid,
			  uint64_t weight, bool inside, bool unknown)
{
	struct jp_summed_weight *thread = thread_of(weights, pid, tid);

	if (!thread)
		return -ENOMEM;
	thread->inside += inside ? weight : 0;
	thread->unknown += unknown ? weight : 0;
	weights->all.inside += inside ? weight : 0;
	weights->all.unknown += unknown ? weight : 0;
	return 0;
}

static double chance(const struct jp_summed_weight *weight)
{
	return SIGMAS * sqrt(weight->most + 1);
}

double jp_summed_least(const struct jp_summed_weight *weight)
{
	return weight->least * (1 - OFF) - chance(weight);
}

double jp_summed_most(const struct jp_summed_weight *weight)
{
	return weight->most * (1 + OFF) + chance(weight);
}

static double perhaps(const struct jp_summed_weight *weight)
{
	return (double)(weight->inside + weight->unknown);
}

/* All together may be right where each thread is wrong: of what some have too many, as many as
 * others lack are theirs. */
static int judge_threads(struct jp_summed_weights *weights, struct jp_findings *findings)
{
	const struct jp_summed_weight *one, *worst = NULL;
	double excess = 0, lack = 0;
	uint64_t key, whose = 0;

	for (size_t at = 0; (one = jp_map_next(&weights->threads, &at, &key));) {
		const double more = (double)one->inside - jp_summed_most(one);

		excess += fmax(more, 0);
		lack += fmax(jp_summed_least(one) - perhaps(one), 0);
		if (more <= 0 || (worst && one->inside <= worst->inside))
			continue;
		worst = one;
		whose = key;
	}
	weights->moved = (uint64_t)fmin(excess, lack);
	if (!worst || !weights->moved)
		return 0;
	return jp_findings_except(
		findings, "cpu.samples", "other-thread",
		"pid %" PRIu64 ", thread %" PRIu64 " has %" PRIu64
		" samples, by its CPU time there are %.1f at most, and others lack %.0f",
		whose >> 32, whose & UINT32_MAX, worst->inside, worst->most, lack);
}

/*
 * Of the samples that may have been in activations, and of those that the CPU time may say, the
 * numbers that come closest to each other: what is possible is no fault.
 */
int jp_summed_weights_judge(struct jp_summed_weights *weights, struct jp_findings *findings)
{
	const struct jp_summed_weight *all = &weights->all;
	const double surely = (double)all->inside;
	const double surplus = surely - jp_summed_most(all);
	const double seen = fmin(fmax(surely, all->least), perhaps(all));
	const double due = fmin(fmax(seen, all->least), all->most);
	int failed = judge_threads(weights, findings);

	jp_findings_add_as(
		findings, &seen_samples,
		jp_metric_count("cpu.samples",
				(uint64_t)(fmax(seen - (double)weights->moved, 0) + 0.5)));
	jp_findings_add_as(findings, &true_samples,
			   jp_metric_count("cpu.expected", (uint64_t)(due + 0.5)));
	if (failed)
		return failed;
	if (perhaps(all) < jp_summed_least(all))
		return jp_findings_except(findings, "cpu.samples", "too-few",
					  "%.0f samples, by the CPU time there are %.1f at least",
					  perhaps(all), all->least);
	weights->surplus = (uint64_t)fmax(surplus, 0);
	if (surplus > 0)
		return jp_findings_except(findings, "cpu.samples", "too-many",
					  "%.0f samples, by the CPU time there are %.1f at most",
					  surely, all->most);
	return 0;
}

void jp_summed_weights_free(struct jp_summed_weights *weights)
{
	jp_map_free(&weights->threads);
}
