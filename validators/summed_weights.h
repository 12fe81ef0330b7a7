/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"
#include "harness/judge/findings.h"
#include "harness/model/evidence/evidence.h"

/* Samples of a thread, or of all threads, and the range that the witness expects. */
struct jp_summed_weight {
	uint64_t samples;   /* all samples */
	uint64_t nr_inside; /* samples with emitted code anywhere on the stack */
	uint64_t unknown;   /* samples that may have emitted code on the stack: they have no frames,
			       or no name of an emitted function */
	double min_expected, max_expected; /* samples that the witness expects: least, those surely
			       in user space within the window; most, all */
	double expected;                   /* samples that the witness expects in any code */
	double steps; /* interruptions of the sampled time: each may add or lose a sample */
};

struct jp_summed_weights {
	struct jp_summed_weight total;
	struct jp_map threads; /* by process and thread -> struct jp_summed_weight */
	double ratio;          /* samples of the stream per sample of the witness */
	uint64_t nr_misplaced; /* samples that one thread has too many and another too few */
	uint64_t surplus;      /* samples that all threads together have too many */
};

/* Fills in the range that the witness expects, at the period that the stream declares. Returns 0 or
 * -ENOMEM. */
int jp_summed_weights_expect(struct jp_summed_weights *weights, const struct jp_evidence *evidence);
/* Counts @weight samples of thread @tid (0: the stream has no threads) of @pid. Returns 0 or
 * -ENOMEM. */
int jp_summed_weights_add(struct jp_summed_weights *weights, uint32_t pid, uint32_t tid,
			  uint64_t weight, bool is_inside, bool unknown);
/* Returns the least number of samples that a stream can have by chance. */
double jp_summed_get_least(const struct jp_summed_weight *weight, double ratio);
/* Returns how many samples the stream may lack, in any code. */
double jp_summed_get_missing(const struct jp_summed_weight *weight, double ratio);
/* Compares the range of samples that may have been in activations with the range that the witness
 * expects, reports a difference beyond chance, and adds the metrics. Returns 0 or -ENOMEM. */
int jp_summed_weights_judge(struct jp_summed_weights *weights, struct jp_findings *findings);
void jp_summed_weights_free(struct jp_summed_weights *weights);
