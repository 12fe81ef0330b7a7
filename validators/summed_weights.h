/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"
#include "harness/judge/findings.h"
#include "harness/model/evidence/evidence.h"

/* How many samples sums hold of a thread, or of all, and how many the CPU time says. */
struct jp_summed_weight {
	uint64_t inside;    /* with emitted code anywhere on the stack */
	uint64_t unknown;   /* that may have been there: no frames, or names of no function */
	double least, most; /* samples, by the CPU time */
};

struct jp_summed_weights {
	struct jp_summed_weight all;
	struct jp_map threads; /* by process and thread -> struct jp_summed_weight */
	uint64_t moved;        /* samples that one thread has too many, and another too few */
	uint64_t surplus;      /* samples that all together have too many */
};

/* CPU time that an activation took while the profiler may have sampled, at most. */
double jp_summed_taken(const struct jp_evidence *evidence, const struct jp_truth_activation *one);
/* Fills in what the CPU time says, by the period that the stream declares. 0 or -ENOMEM. */
int jp_summed_weights_due(struct jp_summed_weights *weights, const struct jp_evidence *evidence);
/* Counts @weight samples of thread @tid of @pid (0: the stream tells no threads). 0 or -ENOMEM. */
int jp_summed_weights_add(struct jp_summed_weights *weights, uint32_t pid, uint32_t tid,
			  uint64_t weight, bool inside, bool unknown);
/* Of as many samples as are missing at least, the bound: what the event misses and chance are off.
 */
double jp_summed_least(const struct jp_summed_weight *weight);
/* And the most that there may be. */
double jp_summed_most(const struct jp_summed_weight *weight);
/* Adds the cell of what was seen, and what is wrong with it. 0 or -ENOMEM. */
int jp_summed_weights_judge(struct jp_summed_weights *weights, struct jp_findings *findings);
void jp_summed_weights_free(struct jp_summed_weights *weights);
