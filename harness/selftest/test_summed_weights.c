// SPDX-License-Identifier: GPL-2.0-only
/* Sums by thread, against the CPU time of each. */
#include "harness/judge/validator.h"
#include "harness/selftest/check.h"
#include "validators/summed_weights.h"

enum { PID = 9, THREADS = 3, DUE = 1000, PERIOD = 1000 };

/* One thread has the samples of the two others, in whatever order they are kept. */
static void moved(void)
{
	const double least = jp_summed_least(&(struct jp_summed_weight){.least = DUE, .most = DUE});

	for (uint32_t whose = 0; whose < THREADS; whose++) {
		struct jp_truth_activation all[THREADS];
		struct jp_truth truth = {.activations = all, .nr_activations = THREADS};
		const struct jp_evidence evidence = {.truth = &truth,
						     .declared = {.period = PERIOD},
						     .info = {.stopped = DUE * PERIOD}};
		struct jp_summed_weights weights = {.moved = 0};
		struct jp_findings findings = {.nr_metrics = 0};
		char begin[64];

		for (uint32_t i = 0; i < THREADS; i++)
			all[i] = (struct jp_truth_activation){.pid = PID,
							      .tid = PID + i,
							      .cpu = DUE * PERIOD,
							      .leave = DUE * PERIOD};
		if (jp_summed_weights_due(&weights, &evidence) ||
		    jp_summed_weights_add(&weights, PID, PID + whose, THREADS * DUE, true, false) ||
		    jp_summed_weights_judge(&weights, &findings))
			exit(99);
		check(weights.moved == (uint64_t)(2 * least),
		      "what both others lack is thread %u's", PID + whose);
		snprintf(begin, sizeof(begin), "pid %u, thread %u has %u samples", PID, PID + whose,
			 THREADS * DUE);
		check(findings.nr_exceptions == 1 &&
			      !strncmp(findings.exceptions->first, begin, strlen(begin)),
		      "which is said: %s",
		      findings.nr_exceptions ? findings.exceptions->first : "nothing");
		jp_summed_weights_free(&weights);
		jp_findings_free(&findings);
	}
}

int main(void)
{
	moved();
	return check_done();
}
