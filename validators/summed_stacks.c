// SPDX-License-Identifier: GPL-2.0-only
/* Summed stacks: judges stacks that a profiler counted without times, with addresses or with names.
 * The process must have an activation with the stack, and the sum of all weights must be the number
 * that the witness expects. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/order.h"
#include "harness/base/sort.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/oracle.h"
#include "validators/frame_names.h"
#include "validators/sample_class.h"
#include "validators/stack_counts.h"
#include "validators/stack_verdict.h"
#include "validators/summed_weights.h"
#include "validators/two_clocks.h"

enum { FRAMES = JP_FRAME_MOST };

/* Samples that no thread can have produced. */
static const struct jp_role impossible_samples = {.column = "invented"};
static const struct jp_role named_samples = {.column = "right"};

struct summed {
	struct jp_view *view;
	struct jp_frame_names names;
	bool by_name;
	/* Activations with different stacks: one of each set of activations with equal stacks. */
	const struct jp_truth_activation **kinds;
	uint64_t *witnessed; /* number of the witness's samples for each of @kinds */
	size_t nr_kinds;
	struct jp_truth_stack truth;
	struct jp_stack_counts counts;
	struct jp_summed_weights weights;
	uint64_t emitted, weight, unnamed;
	uint64_t largest;    /* weight of the largest sum */
	char innermost[128]; /* name of the innermost frame */
	struct jp_stack_leaves leaves;
	struct jp_stack_leaf leaf; /* place of the innermost frame of find_best_verdict()'s stack */
	/* Number of frames of the most similar stack; number of its equal frames, counted from the
	 * innermost. */
	uint32_t nr_must, nr_common;
	/* Numbers of samples: */
	uint64_t nr_stackless;  /* without a frame */
	uint64_t nr_never;      /* samples with a stack that no activation has */
	uint64_t excess;        /* samples that exceed the time of their activations */
	uint64_t nr_impossible; /* samples with an impossible stack below native code */
	uint64_t nr_below;  /* samples with a possible stack below native code: a few are usual */
	uint64_t unwatched; /* samples of processes that never existed */
	uint64_t recorded[FRAMES], must[FRAMES], complete[FRAMES];
	uint32_t nr_seen,
		first_emitted; /* @first_emitted: index of the first frame in emitted code */
	bool all_named;
};

/* Compares activations: equal paths, entered from equal frames, have equal stacks. */
JP_ORDER(compare_by_kind, const struct jp_truth_activation *,
	 jp_compare((*a)->pid, (*b)->pid)
		 ?: jp_compare((*a)->tid, (*b)->tid)
		 ?: jp_compare((*a)->path, (*b)->path)
		 ?: jp_compare((*a)->root[JP_CHAIN], (*b)->root[JP_CHAIN])
		 ?: jp_compare((*a)->root[JP_DUMP], (*b)->root[JP_DUMP])
		 ?: jp_compare((*a)->interrupted, (*b)->interrupted));

static int list_kinds(struct summed *summed)
{
	const struct jp_evidence *evidence = summed->view->evidence;
	const struct jp_truth *truth = evidence->truth;
	size_t count = 0;

	summed->kinds = calloc(truth->nr_activations + 1, sizeof(*summed->kinds));
	summed->witnessed = calloc(truth->nr_activations + 1, sizeof(*summed->witnessed));
	if (!summed->kinds || !summed->witnessed)
		return -ENOMEM;
	for (size_t i = 0; i < truth->nr_activations; i++)
		summed->kinds[i] = &truth->activations[i];
	jp_sort(summed->kinds, truth->nr_activations, compare_by_kind);
	for (size_t i = 0; i < truth->nr_activations; i++) {
		if (!count || compare_by_kind(&summed->kinds[count - 1], &summed->kinds[i]))
			summed->kinds[count++] = summed->kinds[i];
		summed->witnessed[count - 1] += jp_clock_count_witness_samples(
			evidence, summed->kinds[i], jp_clock_get_sampled_time(evidence));
	}
	summed->nr_kinds = count;
	return 0;
}

/* Returns the true @frames in the stream's form: themselves, or the numbers of their names, stored
 * in @numbers. Limits *@count to FRAMES. */
static const uint64_t *encode_frames(struct summed *summed, const uint64_t *frames, uint32_t *count,
				     uint64_t *numbers)
{
	const struct jp_truth_activation *activation = summed->truth.activation;

	if (*count > FRAMES)
		*count = FRAMES;
	if (!summed->by_name)
		return frames;
	jp_frame_get_name_numbers(&summed->names, activation->pid, activation->enter, frames,
				  *count, numbers);
	return numbers;
}

/* Notes how similar a possible stack is, for the description of the observed stack. */
static void note_similarity(struct summed *summed, const uint64_t *frames, uint32_t count)
{
	const uint32_t nr_common =
		jp_stack_count_same_frames(summed->recorded, summed->nr_seen, frames, count);

	if (summed->nr_must && nr_common <= summed->nr_common)
		return;
	summed->nr_common = nr_common;
	summed->nr_must = count;
}

/* Returns the verdict of the observed stack against summed->truth. */
static enum jp_verdict compare_with_truth(struct summed *summed)
{
	const struct jp_truth_stack *truth = &summed->truth;
	uint32_t nr_whole = truth->nr_whole;
	uint32_t nr_must = truth->faithful ? truth->nr_seen : truth->nr_whole;
	const uint64_t *complete =
		encode_frames(summed, truth->frames, &nr_whole, summed->complete);
	const uint64_t *must = encode_frames(
		summed, truth->faithful ? truth->expected : truth->frames, &nr_must, summed->must);

	note_similarity(summed, must, nr_must);
	note_similarity(summed, complete, nr_whole);
	if (summed->by_name)
		return jp_frame_verdict(summed->recorded, summed->nr_seen, must, nr_must, complete,
					nr_whole);
	return jp_stack_verdict(summed->recorded, summed->nr_seen, must, nr_must, complete,
				nr_whole);
}

/* Returns the best verdict of the observed stack against any activation of the process, or of the
 * thread; JP_UNJUDGED: there is no activation. Stores the id of the innermost function in
 * *@function. Adds the witness's samples of all activations with this stack to *@possible. */
static enum jp_verdict find_best_verdict(struct summed *summed, const struct jp_event *event,
					 uint32_t *function, uint64_t *possible)
{
	const struct jp_evidence *evidence = summed->view->evidence;
	const bool has_threads = !(evidence->declared.lacking & JP_LACKS_THREADS);
	enum jp_verdict best = JP_UNJUDGED;

	summed->nr_must = summed->nr_common = 0;
	for (size_t i = 0; i < summed->nr_kinds; i++) {
		const struct jp_truth_activation *kind = summed->kinds[i];
		struct jp_truth_guess guess = {.activation = kind};

		if (kind->pid != event->pid || (has_threads && kind->tid != event->tid))
			continue;
		guess.ip = summed->by_name ? 0 : summed->recorded[0];
		if (summed->by_name)
			guess.name = event->observed->names[summed->first_emitted];
		while (jp_truth_stack_guess(evidence->truth, kind->pid, kind->tid, kind->enter, 0,
					    evidence->declared.method, &guess,
					    &summed->truth) == JP_STACK_FOUND &&
		       guess.activation == kind) {
			enum jp_verdict verdict = compare_with_truth(summed);

			*possible += verdict >= JP_GAP ? summed->witnessed[i] : 0;
			if (verdict <= best)
				continue;
			best = verdict;
			summed->leaf = jp_stack_leaf_find(&summed->truth);
			*function = kind->path->functions[summed->truth.depth]->id;
		}
	}
	return best;
}

static void describe_frame(const struct summed *summed, const struct jp_event *event, uint32_t i,
			   char *text, size_t size)
{
	const char *name = event->observed->names[i];

	if (summed->by_name)
		snprintf(text, size, "%.100s", name ?: "?");
	else
		snprintf(text, size, "%" PRIx64 "%s%.100s", summed->recorded[i], name ? " " : "",
			 name ?: "");
}

static void describe(const struct summed *summed, const struct jp_event *event, char *text,
		     size_t size)
{
	char first[128], next[128] = "nothing";

	describe_frame(summed, event, 0, first, sizeof(first));
	if (summed->nr_common < summed->nr_seen)
		describe_frame(summed, event, summed->nr_common, next, sizeof(next));
	if (!summed->nr_must) {
		snprintf(text, size,
			 "%" PRIu64 " samples of pid %u in %s: %u frames seen; no activation of "
			 "this process runs that function; the stack may belong to another process",
			 event->observed->weight, event->pid, first, summed->nr_seen);
		return;
	}
	snprintf(text, size,
		 "%" PRIu64 " samples of pid %u in %s: %u frames seen, %u must be, equal up to "
		 "frame %u; then comes %s",
		 event->observed->weight, event->pid, first, summed->nr_seen, summed->nr_must,
		 summed->nr_common, next);
}

static int report(struct summed *summed, const struct jp_event *event, const char *metric,
		  const char *cause)
{
	struct jp_exception *exception = jp_findings_count(
		&summed->view->findings, metric, summed->view->evidence->declared.method, cause);

	if (!exception)
		return -ENOMEM;
	if (exception->count == 1)
		describe(summed, event, exception->example, sizeof(exception->example));
	exception->count += event->observed->weight - 1;
	return 0;
}

/* Counts samples of one stack beyond those that the witness expects. @possible: the witness's
 * samples of all activations with this stack. */
static int count_excess(struct summed *summed, const struct jp_event *event, uint64_t possible)
{
	const double ratio = summed->weights.ratio, due = ratio * (double)possible;
	const double max =
		ratio > 0 ? due + jp_witness_compute_chance_bound(INFINITY, due, ratio) : INFINITY;
	const uint64_t weight = event->observed->weight;

	if ((double)weight <= max)
		return 0;
	summed->excess += weight - (uint64_t)max;
	return jp_findings_count_failure(&summed->view->findings, "samples", "too-many",
					 "%" PRIu64 " samples of one stack of pid %u at %" PRIx64
					 " %.100s: the witness expects %.0f of its activations",
					 weight, event->pid, event->sample.ip,
					 event->observed->names[0] ?: "", due);
}

static int count_verdict(struct summed *summed, const struct jp_event *event)
{
	const uint64_t weight = event->observed->weight;
	const enum jp_method method = summed->view->evidence->declared.method;
	const char *metric, *cause;
	uint64_t possible = 0;
	uint32_t function = 0;
	enum jp_verdict verdict = find_best_verdict(summed, event, &function, &possible);
	const bool is_impossible = verdict == JP_UNJUDGED;

	if (verdict >= JP_GAP && count_excess(summed, event, possible))
		return -ENOMEM;
	if (is_impossible) {
		verdict = JP_WRONG;
		summed->nr_never += weight;
	}
	jp_stack_counts_verdict(&summed->counts, method, verdict, weight);
	summed->counts.methods[method].nr_predicted += verdict >= JP_GAP ? weight : 0;
	if (!summed->by_name && !is_impossible)
		jp_stack_leaves_add(&summed->leaves, summed->leaf, verdict, verdict >= JP_GAP,
				    weight);
	if (!is_impossible &&
	    jp_stack_counts_place(&summed->counts, function, (uint32_t)event->sample.ip))
		return -ENOMEM;
	metric = jp_stack_counts_metric(verdict, &cause);
	return metric ? report(summed, event, metric, is_impossible ? "no-depth" : cause) : 0;
}

/* Returns whether the innermost frame is emitted code, by its address or its name. */
static bool is_emitted(struct summed *summed, const struct jp_event *event)
{
	if (!event->observed->nr_names)
		return false;
	if (summed->by_name)
		return summed->recorded[0] >= JP_FRAME_FIRST;
	return jp_truth_was_code_at(summed->view->evidence->truth, event->pid, event->sample.ip,
				    NULL);
}

/* Returns the index of the first frame in emitted code, or the number of frames. */
static uint32_t find_first_emitted(const struct summed *summed, const struct jp_event *event)
{
	uint32_t i = 0;

	while (i < summed->nr_seen &&
	       !(summed->by_name ? summed->recorded[i] >= JP_FRAME_FIRST
				 : jp_truth_was_code_at(summed->view->evidence->truth, event->pid,
							summed->recorded[i] - !!i, NULL)))
		i++;
	return i;
}

/* Returns whether all frames before the first one in emitted code have native names: an unnamed
 * frame may be emitted code. */
static bool has_native_leaf(const struct summed *summed)
{
	uint32_t i = 0;

	if (!summed->by_name)
		return true;
	while (summed->recorded[i] == JP_FRAME_NATIVE)
		i++;
	return i == summed->first_emitted;
}

/* Judges a stack whose innermost frames are native, with emitted callers: the frames from the first
 * emitted one on must be possible. */
static int judge_emitted_callers(struct summed *summed, const struct jp_event *event)
{
	const bool is_native = has_native_leaf(summed);
	uint32_t function;
	uint64_t possible = 0;
	enum jp_verdict verdict;

	summed->nr_seen -= summed->first_emitted;
	memmove(summed->recorded, summed->recorded + summed->first_emitted,
		summed->nr_seen * sizeof(*summed->recorded));
	verdict = find_best_verdict(summed, event, &function, &possible);
	if (verdict >= JP_SINGLE) {
		summed->nr_below += is_native ? event->observed->weight : 0;
		return 0;
	}
	summed->nr_impossible += event->observed->weight;
	return jp_findings_count_failure(
		&summed->view->findings, "samples", "astray",
		"%" PRIu64 " samples of pid %u: %u native frames, and then an impossible stack; a "
		"stream must have the innermost frame first",
		event->observed->weight, event->pid, summed->first_emitted);
}

/* Stores the innermost name of the largest sum, as an example of the profiler's names. */
static void note_largest_sum(struct summed *summed, const struct jp_event *event)
{
	const struct jp_observed *observed = event->observed;

	if (!summed->by_name || !observed->nr_names || observed->weight <= summed->largest)
		return;
	summed->largest = observed->weight;
	describe_frame(summed, event, 0, summed->innermost, sizeof(summed->innermost));
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct summed *summed = view->state;
	const struct jp_observed *observed = event->observed;
	const uint64_t *user;

	if (event->type != JP_EVENT_SAMPLE)
		return 0;
	summed->weight += observed->weight;
	if (!jp_sample_is_watched(view->evidence, event->pid, UINT64_MAX)) {
		summed->unwatched += observed->weight;
		return 0;
	}
	summed->nr_seen = 0;
	jp_event_user_chain(event, &user);
	for (uint64_t i = 0; i < observed->nr_names && i < FRAMES; i++)
		summed->recorded[summed->nr_seen++] =
			summed->by_name
				? jp_frame_get_name_number(&summed->names, observed->names[i])
				: user[i];
	if (!summed->nr_seen)
		summed->nr_stackless += observed->weight;
	else if (summed->by_name && summed->recorded[0] == JP_FRAME_UNNAMED)
		summed->unnamed += observed->weight;
	summed->first_emitted = find_first_emitted(summed, event);
	note_largest_sum(summed, event);
	if (jp_summed_weights_add(&summed->weights, event->pid, event->tid, observed->weight,
				  summed->first_emitted < summed->nr_seen,
				  summed->first_emitted == summed->nr_seen &&
					  (summed->by_name || !summed->nr_seen)))
		return -ENOMEM;
	if (summed->first_emitted && summed->first_emitted < summed->nr_seen)
		return judge_emitted_callers(summed, event);
	if (!is_emitted(summed, event))
		return 0;
	summed->emitted += observed->weight;
	summed->counts.samples += observed->weight;
	return count_verdict(summed, event);
}

/* Returns how many samples of the stream, at least, are in emitted code without the name of an
 * emitted function: as many as it lacks there, less those that it may lack altogether. */
static uint64_t count_misnamed_samples(const struct summed *summed)
{
	const struct jp_summed_weight *weight = &summed->weights.total;
	const double lack = jp_summed_get_least(weight, summed->weights.ratio) -
			    (double)(weight->nr_inside + summed->unnamed + summed->nr_stackless);

	return (uint64_t)fmax(lack - jp_summed_get_missing(weight, summed->weights.ratio), 0);
}

/* Reports that no name is an emitted function's. */
static int report_misnamed_samples(struct summed *summed)
{
	const struct jp_truth *truth = summed->view->evidence->truth;
	const uint64_t lack = count_misnamed_samples(summed);

	if (!lack || summed->weights.total.nr_inside || !truth->nr_codes)
		return 0;
	return jp_findings_count_failure(&summed->view->findings, "samples", "misnamed",
					 "at least %" PRIu64 " samples were in emitted code, and "
					 "no frame has the name of an emitted function, such as "
					 "%.100s; the largest sum has %s innermost",
					 lack, truth->codes[0].name, summed->innermost);
}

/* Adds the share of right names, unless most stacks are impossible, which proves nothing about
 * names. */
static void add_functions(const struct summed *summed)
{
	const enum jp_method method = summed->view->evidence->declared.method;
	const uint64_t *verdicts = summed->counts.methods[method].verdicts;
	const uint64_t impossible = verdicts[JP_WRONG] + verdicts[JP_EXTRA] - summed->nr_never;
	const uint64_t judged =
		summed->emitted - impossible + summed->unnamed + count_misnamed_samples(summed);

	if (judged >= impossible)
		jp_findings_add_role_rate(&summed->view->findings, &named_samples, "names.right",
					  summed->emitted - impossible - summed->nr_never, judged);
}

/* Reports and returns @count if its share of @n exceeds @usual_share beyond chance, else returns 0.
 */
static uint64_t report_unusual_count(struct summed *summed, uint64_t count, uint64_t n,
				     double usual_share, const char *cause, const char *metric)
{
	const struct jp_metric share = jp_metric_rate("", count, n);

	if (!n || share.lo <= usual_share)
		return 0;
	jp_findings_count_failure(&summed->view->findings, "samples", cause,
				  "%" PRIu64 " of %" PRIu64
				  " samples %s; at most %.1f %% are usual",
				  count, n, metric, 100 * usual_share);
	return count;
}

/* Returns by how many the samples without emitted code exceed all samples that the witness
 * expects. */
static uint64_t judge_native_samples(struct summed *summed)
{
	const uint64_t native =
		summed->weight - summed->unwatched - summed->weights.total.nr_inside;
	const double ratio = summed->weights.ratio;
	const double expected = ratio * (double)summed->view->evidence->witnessed.count;
	const double max = expected + jp_witness_compute_chance_bound(INFINITY, expected, ratio);

	if (ratio <= 0 || (double)native <= max)
		return 0;
	jp_findings_count_failure(&summed->view->findings, "samples", "too-many",
				  "%" PRIu64 " samples without an emitted function; the witness "
				  "expects %.0f samples in all",
				  native, expected);
	return native - (uint64_t)max;
}

/* Returns how many samples no thread can have produced. */
static uint64_t count_impossible_samples(struct summed *summed)
{
	const struct jp_evidence *evidence = summed->view->evidence;
	/* The three numbers may count the same samples, so do not add them. */
	uint64_t count = jp_max(jp_max(summed->excess, summed->weights.nr_misplaced),
				summed->weights.surplus) +
			 summed->nr_impossible;

	count += judge_native_samples(summed);
	/* Skip this if code in files, which may have any name, counts as native. */
	if (summed->all_named || !summed->by_name)
		count += report_unusual_count(summed, summed->nr_below,
					      jp_max(summed->weights.total.nr_inside,
						     (uint64_t)summed->weights.total.min_expected),
					      JP_SAMPLE_ASTRAY_USUAL + JP_SAMPLE_BELOW_USUAL,
					      "below",
					      "have emitted code, and a native function innermost");
	if (!evidence->declared.system_wide)
		count += report_unusual_count(summed, summed->unwatched, summed->weight,
					      JP_SAMPLE_UNWATCHED_USUAL, "unwatched",
					      "are of processes that did not exist");
	return count;
}

/* Counts samples without a stack as broken: as many as the stream's emitted code lacks, compared
 * with the number that the witness expects there. */
static int judge_stackless_samples(struct summed *summed)
{
	const struct jp_summed_weight *weight = &summed->weights.total;
	const double lack = jp_summed_get_least(weight, summed->weights.ratio) -
			    (double)(weight->nr_inside + weight->unknown - summed->nr_stackless);
	const uint64_t lost = lack > 0 ? jp_min((uint64_t)lack, summed->nr_stackless) : 0;
	struct jp_exception *exception;

	if (!lost)
		return 0;
	summed->counts.samples += lost;
	exception =
		jp_stack_counts_change(&summed->counts, summed->view, JP_UNJUDGED, JP_SHORT, lost);
	if (exception && exception->count == lost)
		snprintf(exception->example, sizeof(exception->example),
			 "%" PRIu64 " samples have no stack; by the witness %" PRIu64
			 " of them at least were in emitted code",
			 summed->nr_stackless, lost);
	return exception ? 0 : -ENOMEM;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct summed *summed = view->state;
	int failed = 0;

	if (summed->weights.ratio > 0)
		failed = jp_summed_weights_judge(&summed->weights, &view->findings)
				 ?: judge_stackless_samples(summed);
	failed = failed ?: jp_stack_leaves_judge(&summed->leaves, &summed->counts, view)
			 ?: jp_stack_counts_add(&summed->counts, view);
	jp_findings_add_role_count(&view->findings, &impossible_samples, "samples.impossible",
				   count_impossible_samples(summed));
	if (summed->by_name && view->asked->names && summed->all_named) {
		add_functions(summed);
		failed = failed ?: report_misnamed_samples(summed);
	}
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_evidence *evidence = view->evidence;
	struct summed *summed = view->state;

	if (!(evidence->declared.lacking & JP_LACKS_TIME))
		return 1;
	if (jp_stack_counts_init(&summed->counts, evidence))
		return -ENOMEM;
	summed->by_name = evidence->declared.lacking & JP_LACKS_ADDRESSES;
	summed->all_named = jp_frame_has_all_code_named(evidence->truth);
	return jp_frame_names_init(&summed->names, evidence->truth)
		       ?: list_kinds(summed)
		       ?: jp_summed_weights_expect(&summed->weights, evidence);
}

static void free_summed(void *state)
{
	struct summed *summed = state;

	jp_truth_stack_free(&summed->truth);
	jp_stack_counts_free(&summed->counts);
	jp_frame_names_free(&summed->names);
	jp_summed_weights_free(&summed->weights);
	free(summed->kinds);
	free(summed->witnessed);
}

JP_DEFINE(validator, summed_stacks) = {
	.name = "summed_stacks",
	.traits = JP_LACKS_ALL,
	.state_size = sizeof(struct summed),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_summed,
};
