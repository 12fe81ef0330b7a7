// SPDX-License-Identifier: GPL-2.0-only
/* Implements `jitproof explain --truth`: compares the causes that explain finds in the capture
 * alone with those that the validators find with the truth. */
#include "harness/command/explain_truth.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/exits.h"
#include "harness/base/json.h"
#include "harness/base/order.h"
#include "harness/explain/explain.h"
#include "harness/model/causes/causes.h"
#include "harness/outcome/case_folder.h"

enum { MOST_CAUSES = 64 };

struct truth_causes {
	const struct jp_gathering *gathering;
	bool json;
	uint64_t samples; /* number of samples in emitted code, by the truth */
	/* Number of samples that each cause spoils, by the truth. */
	uint64_t nr_found[MOST_CAUSES];
	/* Number of samples that explain attributes to each cause. */
	uint64_t explained[MOST_CAUSES];
	bool accused[MOST_CAUSES]; /* explain reports the cause, and not only as a note */
	struct jp_explanation explanation;
};

static size_t find_index(const struct jp_cause *cause)
{
	size_t i = 0;

	while (jp_cause_at(i) != cause)
		i++;
	return i;
}

static uint64_t count_in_code(const struct jp_findings *findings)
{
	const struct jp_metric *below = jp_findings_find_metric(findings, "samples.below");

	return below ? below->n : 0;
}

/* Returns the cause of missing names for a capture that has no source of names. */
static const char *find_unnamed_cause(const struct jp_gathering *ask)
{
	if (ask->jitdumps)
		return "jitdump-not-injected";
	return ask->markers ? "jitdump-file-gone" : "no-name-source";
}

/* Collects the validators' findings. If the capture has no source of names, the validators do not
 * judge names: then adds the cause of that. */
static void collect_truth(struct truth_causes *causes, const struct jp_findings *findings)
{
	const struct jp_gathering *ask = causes->gathering;
	const bool is_mapped = ask->perf_maps;

	causes->samples = count_in_code(findings);
	for (size_t i = 0; i < findings->nr_exceptions; i++) {
		const struct jp_exception *exception = &findings->exceptions[i];
		const struct jp_cause *cause =
			jp_cause_of_word(exception->metric, exception->cause);
		uint64_t *nr_found = cause ? &causes->nr_found[find_index(cause)] : NULL;

		/* Two unwinding methods may fail for the same sample: take the larger count, not
		 * the sum. */
		if (nr_found)
			*nr_found = jp_max(*nr_found, exception->count);
	}
	if (!is_mapped && !ask->injected)
		causes->nr_found[find_index(jp_cause_find(find_unnamed_cause(ask)))] =
			causes->samples;
}

static void collect_explanation(struct truth_causes *causes)
{
	const struct jp_explanation *explanation = &causes->explanation;

	for (size_t i = 0; i < explanation->nr_causes; i++) {
		size_t index = find_index(explanation->causes[i].cause);

		causes->explained[index] = explanation->causes[i].samples;
		causes->accused[index] = i < explanation->nr_accused;
	}
}

/* Returns the number of samples of the most frequent cause that both explain and the truth name. */
static uint64_t count_explained_samples(const struct truth_causes *causes)
{
	uint64_t max = 0;

	for (size_t i = 0; jp_cause_at(i); i++)
		if (causes->accused[i] && causes->nr_found[i])
			max = jp_max(max, jp_max(causes->explained[i], causes->nr_found[i]));
	return max;
}

/* Returns the verdict on a cause: "right", "wrong", "missed"; "covered": missed, but it spoils no
 * more samples than a cause that explain names rightly; "unjudged": the truth does not cover it;
 * NULL: neither explain nor the truth names it. */
static const char *judge_cause(const struct truth_causes *causes, size_t i)
{
	const struct jp_cause *cause = jp_cause_at(i);
	const uint64_t nr_found = causes->nr_found[i];
	/* A missing file also affects names of native code, about which the truth states
	 * nothing. */
	const bool of_file = strcmp(cause->id, "missing-file") == 0 ||
			     strcmp(cause->id, "stripped-symbols") == 0;
	const bool is_judged = jp_cause_is_judged(cause) && (nr_found || !of_file);

	if (!is_judged)
		return causes->accused[i] ? "unjudged" : NULL;
	if (causes->accused[i])
		return nr_found ? "right" : "wrong";
	if (nr_found <= JP_EXPLAIN_ACCUSES * (double)causes->samples)
		return NULL;
	if (causes->explained[i])
		return "right";
	return nr_found <= count_explained_samples(causes) ? "covered" : "missed";
}

static bool do_causes_agree(const struct truth_causes *causes)
{
	for (size_t i = 0; jp_cause_at(i); i++) {
		const char *verdict = judge_cause(causes, i);

		if (verdict && (!strcmp(verdict, "wrong") || !strcmp(verdict, "missed")))
			return false;
	}
	return true;
}

static bool print_comparison(const struct truth_causes *causes)
{
	struct jp_json json;
	const bool agree = do_causes_agree(causes);

	if (causes->json) {
		jp_json_begin(&json, stdout);
		jp_json_object(&json, NULL);
		jp_json_bool(&json, "agree", agree);
		jp_json_u64(&json, "samples", causes->samples);
		jp_json_array(&json, "causes");
	} else {
		printf("%s: explain and the truth %s, by %" PRIu64 " samples in emitted code\n",
		       causes->gathering->capture, agree ? "agree" : "differ", causes->samples);
	}
	for (size_t i = 0; jp_cause_at(i); i++) {
		const char *verdict = judge_cause(causes, i), *id = jp_cause_at(i)->id;

		if (verdict && causes->json) {
			jp_json_object(&json, NULL);
			jp_json_string(&json, "id", id);
			jp_json_string(&json, "verdict", verdict);
			jp_json_u64(&json, "explain", causes->explained[i]);
			jp_json_u64(&json, "truth", causes->nr_found[i]);
			jp_json_end(&json);
		} else if (verdict) {
			printf("  %-8s %-24s explain: %" PRIu64 " samples; the truth: %" PRIu64
			       "\n",
			       verdict, id, causes->explained[i], causes->nr_found[i]);
		}
	}
	if (causes->json) {
		jp_json_end(&json);
		jp_json_end(&json);
	}
	return agree;
}

/* Compares the results of explain and of the validators for the case folder @dir. Returns the exit
 * status. */
static int compare_causes(struct jp_truth_request *request, const char *dir, struct jp_error *err)
{
	static struct truth_causes causes;
	static struct jp_result result;
	const struct jp_explain_options options = {0};
	const struct jp_gathering *ask = &request->gathering;
	struct jp_cases *cases = jp_case_folder_definition(dir, err);

	if (!cases ||
	    jp_explain(ask->injected ?: ask->capture, &options, &causes.explanation, err)) {
		jp_cases_free(cases);
		return JP_EXIT_BROKEN;
	}
	causes.gathering = ask;
	causes.json = request->json;
	jp_case_folder_judge(&cases->cases[0], dir, &result);
	collect_truth(&causes, &result.findings);
	collect_explanation(&causes);
	if (!causes.samples)
		jp_fail(err, ENODATA, "%s: no sample in emitted code%s%s", ask->capture,
			*result.reasons ? ": " : "", result.reasons);
	jp_findings_free(&result.findings);
	jp_cases_free(cases);
	jp_explanation_free(&causes.explanation);
	if (!causes.samples)
		return JP_EXIT_BROKEN;
	return print_comparison(&causes) ? JP_EXIT_OK : JP_EXIT_BAD;
}

int jp_explain_truth(struct jp_truth_request *request)
{
	/* Judge by methods that unwind as perf does, without falling back to frame pointers. */
	request->gathering.methods = "chain,dump,dump_cfi";
	return jp_truth_request_judge(request, compare_causes);
}
