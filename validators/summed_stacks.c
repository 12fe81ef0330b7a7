// SPDX-License-Identifier: GPL-2.0-only
/*
 * Summed stacks: the verdict of a stack that a profiler counted, and does not say when, by
 * addresses or by names. Some activation of the process must have it, and all weights together must
 * be what the CPU time says. Which of two functions took more of it, the truth does not tell.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/search.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/oracle.h"
#include "validators/frame_names.h"
#include "validators/stack_counts.h"
#include "validators/stack_verdict.h"

enum { FRAMES = JP_FRAME_MOST };
/* As validators/cpu_time.c has it: what the event misses, and what chance does. */
static const double OFF = 0.16, SIGMAS = 4.5;

static const struct jp_role seen_samples = {.column = "seen"};
static const struct jp_role true_samples = {.column = "seen", .total = true};
static const struct jp_role named_samples = {.column = "right"};

struct summed {
	struct jp_view *view;
	struct jp_frame_names names;
	bool by_name;
	/* Of activations with equal stacks, one each. */
	const struct jp_truth_activation **kinds;
	size_t nr_kinds;
	struct jp_truth_stack truth;
	struct jp_stack_counts counts;
	uint64_t emitted, all, unnamed;
	uint64_t never; /* what no activation has */
	uint64_t seen[FRAMES], must[FRAMES], whole[FRAMES];
	uint32_t nr_seen;
};

/* Equal paths that were entered from equal frames show equal stacks. */
static bool same_kind(const struct jp_truth_activation *one,
		      const struct jp_truth_activation *other)
{
	return one->pid == other->pid && one->path == other->path &&
	       one->root[JP_CHAIN] == other->root[JP_CHAIN] &&
	       one->root[JP_DUMP] == other->root[JP_DUMP] && one->interrupted == other->interrupted;
}

static int by_kind(const void *left, const void *right)
{
	const struct jp_truth_activation *a = *(const struct jp_truth_activation *const *)left;
	const struct jp_truth_activation *b = *(const struct jp_truth_activation *const *)right;
	const uintptr_t keys[][2] = {
		{a->pid, b->pid},
		{(uintptr_t)a->path, (uintptr_t)b->path},
		{(uintptr_t)a->root[JP_CHAIN], (uintptr_t)b->root[JP_CHAIN]},
		{(uintptr_t)a->root[JP_DUMP], (uintptr_t)b->root[JP_DUMP]},
		{(uintptr_t)a->interrupted, (uintptr_t)b->interrupted},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

static int list_kinds(struct summed *summed, const struct jp_truth *truth)
{
	size_t count = 0;

	summed->kinds = calloc(truth->nr_activations + 1, sizeof(*summed->kinds));
	if (!summed->kinds)
		return -ENOMEM;
	for (size_t i = 0; i < truth->nr_activations; i++)
		summed->kinds[i] = &truth->activations[i];
	if (truth->nr_activations)
		qsort(summed->kinds, truth->nr_activations, sizeof(*summed->kinds), by_kind);
	for (size_t i = 0; i < truth->nr_activations; i++)
		if (!count || !same_kind(summed->kinds[count - 1], summed->kinds[i]))
			summed->kinds[count++] = summed->kinds[i];
	summed->nr_kinds = count;
	return 0;
}

/* The true frames as the stream has them. */
static const uint64_t *told(struct summed *summed, const uint64_t *frames, uint32_t *count,
			    uint64_t *numbers)
{
	const struct jp_truth_activation *activation = summed->truth.activation;

	if (*count > FRAMES)
		*count = FRAMES;
	if (!summed->by_name)
		return frames;
	jp_frame_numbers(&summed->names, activation->pid, activation->enter, frames, *count,
			 numbers);
	return numbers;
}

static enum jp_verdict fit(struct summed *summed)
{
	const struct jp_truth_stack *truth = &summed->truth;
	uint32_t nr_whole = truth->nr_whole;
	uint32_t nr_must = truth->faithful ? truth->nr_seen : truth->nr_whole;
	const uint64_t *whole = told(summed, truth->whole, &nr_whole, summed->whole);
	const uint64_t *must =
		told(summed, truth->faithful ? truth->seen : truth->whole, &nr_must, summed->must);

	if (summed->by_name)
		return jp_frame_verdict(summed->seen, summed->nr_seen, must, nr_must, whole,
					nr_whole);
	return jp_stack_verdict(summed->seen, summed->nr_seen, must, nr_must, whole, nr_whole);
}

/* The best that any activation of the process gives; JP_UNJUDGED: none was ever there. */
static enum jp_verdict best(struct summed *summed, const struct jp_event *event, uint32_t *function)
{
	const struct jp_evidence *evidence = summed->view->evidence;
	enum jp_verdict most = JP_UNJUDGED;

	for (size_t i = 0; i < summed->nr_kinds && most != JP_EXACT; i++) {
		const struct jp_truth_activation *kind = summed->kinds[i];
		struct jp_truth_guess guess = {.ip = event->sample.ip, .activation = kind};

		if (kind->pid != event->pid)
			continue;
		if (summed->by_name)
			guess.name = event->observed->names[0];
		while (jp_truth_stack_guess(evidence->truth, kind->pid, kind->tid, kind->enter, 0,
					    evidence->declared.method, &guess,
					    &summed->truth) == JP_STACK_FOUND &&
		       guess.activation == kind) {
			enum jp_verdict verdict = fit(summed);

			if (verdict <= most)
				continue;
			most = verdict;
			*function = kind->path->functions[summed->truth.depth]->id;
		}
	}
	return most;
}

static int except(struct summed *summed, const struct jp_event *event, const char *metric,
		  const char *cause)
{
	struct jp_exception *exception = jp_findings_count(
		&summed->view->findings, metric, summed->view->evidence->declared.method, cause);

	if (!exception)
		return -ENOMEM;
	if (exception->count == 1)
		snprintf(exception->first, sizeof(exception->first),
			 "%" PRIu64 " samples of pid %u at %" PRIx64 " %.100s, %u frames",
			 event->observed->weight, event->pid, event->sample.ip,
			 event->observed->names[0] ?: "", summed->nr_seen);
	exception->count += event->observed->weight - 1;
	return 0;
}

static int count(struct summed *summed, const struct jp_event *event)
{
	const uint64_t weight = event->observed->weight;
	struct jp_method_count *count =
		&summed->counts.methods[summed->view->evidence->declared.method];
	uint32_t function = 0;
	enum jp_verdict verdict = best(summed, event, &function);
	const bool never = verdict == JP_UNJUDGED;

	if (never) {
		verdict = JP_WRONG;
		summed->never += weight;
	}
	count->judged += weight;
	count->verdicts[verdict] += weight;
	count->predicted += verdict >= JP_GAP ? weight : 0;
	count->broken += verdict >= JP_SINGLE && verdict <= JP_HOLE ? weight : 0;
	if (!never && jp_stack_counts_place(&summed->counts, function, (uint32_t)event->sample.ip))
		return -ENOMEM;
	switch (verdict) {
	case JP_SINGLE:
	case JP_SHORT:
	case JP_HOLE:
		return except(summed, event, "broken", jp_verdict_text(verdict));
	case JP_WRONG:
		return except(summed, event, "wrong", never ? "no-depth" : "wrong-frame");
	case JP_EXTRA:
		return except(summed, event, "extra", "extra-frame");
	default:
		return 0;
	}
}

/* Whether some function was there at any time. */
static bool ever_code(const struct jp_truth *truth, uint32_t pid, uint64_t ip)
{
	size_t i;

	jp_search(i, truth->nr_codes,
		  truth->codes[i].pid < pid ||
			  (truth->codes[i].pid == pid && truth->codes[i].addr <= ip));
	for (; i && truth->codes[i - 1].pid == pid && truth->code_reach[i - 1] > ip; i--)
		if (ip - truth->codes[i - 1].addr < truth->codes[i - 1].size)
			return true;
	return false;
}

/* Whether it was in emitted code, by its address or by its name. */
static bool is_emitted(struct summed *summed, const struct jp_event *event)
{
	if (!event->observed->nr_names)
		return false;
	if (summed->by_name)
		return summed->seen[0] >= JP_FRAME_FIRST;
	return ever_code(summed->view->evidence->truth, event->pid, event->sample.ip);
}

static int see(struct jp_view *view, const struct jp_event *event)
{
	struct summed *summed = view->state;
	const struct jp_observed *observed = event->observed;
	const uint64_t *user;

	if (event->type != JP_EVENT_SAMPLE)
		return 0;
	summed->all += observed->weight;
	summed->nr_seen = 0;
	jp_event_user_chain(event, &user);
	for (uint64_t i = 0; i < observed->nr_names && i < FRAMES; i++)
		summed->seen[summed->nr_seen++] =
			summed->by_name ? jp_frame_number(&summed->names, observed->names[i])
					: user[i];
	if (summed->by_name && (!summed->nr_seen || summed->seen[0] == JP_FRAME_UNNAMED))
		summed->unnamed += observed->weight;
	if (!is_emitted(summed, event))
		return 0;
	summed->emitted += observed->weight;
	summed->counts.samples += observed->weight;
	return count(summed, event);
}

/* Samples that the CPU time within the window says: at least those of whole activations, at most
 * those of all that overlap it. */
static void expected(const struct jp_evidence *evidence, double *least, double *most)
{
	const struct jp_truth *truth = evidence->truth;

	*least = *most = 0;
	for (size_t i = 0; i < truth->nr_activations; i++) {
		const struct jp_truth_activation *one = &truth->activations[i];
		double samples = (double)one->cpu / (double)evidence->declared.period;

		if (one->cpu == UINT64_MAX || one->leave < evidence->info.sampling ||
		    one->enter > evidence->info.stopped)
			continue;
		*most += samples;
		if (one->enter >= evidence->info.sampling && one->leave <= evidence->info.stopped)
			*least += samples;
	}
}

static int judge_weight(struct summed *summed)
{
	const struct jp_evidence *evidence = summed->view->evidence;
	struct jp_findings *findings = &summed->view->findings;
	double least, most, chance;

	if (!evidence->declared.period || evidence->truth->version < JP_TRUTH_VERSION_CPU)
		return 0;
	expected(evidence, &least, &most);
	chance = SIGMAS * sqrt(most + 1);
	jp_findings_add_as(findings, &seen_samples, jp_metric_count("cpu.samples", summed->all));
	jp_findings_add_as(findings, &true_samples,
			   jp_metric_count("cpu.expected", (uint64_t)(least + 0.5)));
	if ((double)summed->all >= least * (1 - OFF) - chance)
		return 0;
	return jp_findings_except(findings, "cpu.samples", "too-few",
				  "%" PRIu64 " samples, by the CPU time there are %.1f at least",
				  summed->all, least);
}

/* Names of sums are judged where all code has one: a sum in a file may have none. */
static bool all_named(const struct jp_truth *truth)
{
	for (size_t i = 0; i < truth->nr_codes; i++)
		if (truth->codes[i].in_file)
			return false;
	return true;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct summed *summed = view->state;
	int failed = jp_stack_counts_add(&summed->counts, view) ?: judge_weight(summed);

	if (!failed && view->asked->names && summed->by_name && all_named(view->evidence->truth))
		jp_findings_add_as(&view->findings, &named_samples,
				   jp_metric_rate("names.right", summed->emitted - summed->never,
						  summed->emitted + summed->unnamed));
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_evidence *evidence = view->evidence;
	struct summed *summed;

	if (!(evidence->declared.lacks & JP_LACKS_TIME))
		return 0;
	summed = view->state = calloc(1, sizeof(*summed));
	if (!summed || jp_stack_counts_init(&summed->counts, evidence))
		return -ENOMEM;
	summed->view = view;
	summed->by_name = evidence->declared.lacks & JP_LACKS_ADDRESSES;
	return jp_frame_names_init(&summed->names, evidence->truth)
		       ?: list_kinds(summed, evidence->truth);
}

static void free_summed(void *state)
{
	struct summed *summed = state;

	jp_truth_stack_free(&summed->truth);
	jp_stack_counts_free(&summed->counts);
	jp_frame_names_free(&summed->names);
	free(summed->kinds);
	free(summed);
}

static const struct jp_validator summed_stacks = {
	.name = "summed_stacks",
	.help = "is each stack that was counted one that was there, and as often?",
	.traits = JP_LACKS_ALL,
	.begin = begin,
	.see = see,
	.end = end,
	.free = free_summed,
};
JP_REGISTER(validator, summed_stacks);
