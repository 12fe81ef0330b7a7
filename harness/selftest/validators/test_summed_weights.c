// SPDX-License-Identifier: GPL-2.0-only
/* Sums of weights per thread, compared with the witness's samples. */
#include "harness/selftest/support/check.h"
#include "validators/summed_weights.h"

enum { PID = 9, THREADS = 3, DUE = 1000, PERIOD = 1000 };

/* Each thread in turn gets the samples of all three threads. */
TEST(samples_moved_between_threads)
{
	struct jp_witness_sample samples[THREADS * DUE];
	struct jp_truth_activation activations[THREADS];
	struct jp_truth truth = {.activations = activations, .nr_activations = THREADS};
	const struct jp_evidence evidence = {
		.truth = &truth,
		.declared = {.observed = true, .lacking = JP_LACKS_TIME, .period = PERIOD},
		.info = {.stopped = UINT64_MAX},
		.watched = {.started = 1, .ended = UINT64_MAX, .witness_since = 1},
		.witnessed = {.samples = samples, .count = THREADS * DUE, .period = PERIOD}};

	for (uint32_t i = 0; i < THREADS; i++)
		activations[i] = (struct jp_truth_activation){
			.pid = PID, .tid = PID + i, .leave = (DUE + 2) * PERIOD};
	for (uint32_t i = 0; i < THREADS * DUE; i++)
		samples[i] = (struct jp_witness_sample){.time = (1 + i % DUE) * PERIOD,
							.pid = PID,
							.tid = PID + i / DUE,
							.user = true};
	for (uint32_t whose = 0; whose < THREADS; whose++) {
		struct jp_summed_weights weights = {.nr_misplaced = 0};
		struct jp_findings findings = {.nr_metrics = 0};
		char begin[64];

		if (jp_summed_weights_expect(&weights, &evidence) ||
		    jp_summed_weights_add(&weights, PID, PID + whose, THREADS * DUE, true, false) ||
		    jp_summed_weights_judge(&weights, &findings))
			exit(99);
		/* A thread with one gap may have up to 9.6 samples more or less. */
		check(weights.nr_misplaced > 2 * (DUE - 11) && weights.nr_misplaced < 2 * DUE,
		      "thread %u has %d samples that belong to others", PID + whose,
		      (int)weights.nr_misplaced);
		snprintf(begin, sizeof(begin), "pid %u, thread %u has %u samples", PID, PID + whose,
			 THREADS * DUE);
		check(findings.nr_exceptions == 1 &&
			      !strncmp(findings.exceptions->example, begin, strlen(begin)),
		      "the finding names the thread: %s",
		      findings.nr_exceptions ? findings.exceptions->example : "nothing");
		jp_summed_weights_free(&weights);
		jp_findings_free(&findings);
	}
}

/* Samples that a stream lacks may have had any name. */
TEST(missing)
{
	const struct jp_summed_weight weight = {.samples = 900, .expected = 1000, .steps = 0};
	const struct jp_summed_weight more = {.samples = 1100, .expected = 1000, .steps = 0};
	const double missing = jp_summed_get_missing(&weight, 1);

	check(missing >= 100 && missing < 110, "900 of 1000 samples: at most %.1f are missing",
	      missing);
	check(jp_summed_get_missing(&more, 1) == 0, "1100 of 1000 samples: none is missing");
}
