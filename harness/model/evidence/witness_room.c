// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/evidence/witness_room.h"

#include <math.h>

/* Samples: where in their periods the clocks are when a stretch begins and when it ends. */
static const double ENDS = 2;
/* The bounds below hold but for a probability of exp(-K * K / 2), which is 5 * 10^-7. */
static const double K = 5.39;
/*
 * Samples squared: the variance of what an interruption changes. A switch of contexts gives each
 * clock a phase that is equally likely anywhere in its period: (1 + ratio^2) / 6. A stall that
 * lasts as long as the witness's period delays a sample of the witness for certain, and with a
 * probability of @ratio one of the capture: ratio * (1 - ratio). Neither is more.
 */
static const double VARIANCE = 0.25;
/*
 * Each interruption shifts each timer's phase by less than a period, so a count changes by a sample
 * at most. Both Hoeffding's inequality, by that range, and Bernstein's, by the variance, bound the
 * sum: the smaller bound counts. The samples that fall into a time are themselves a sum of events
 * whose variance is at most their mean, so interruptions beyond the samples add nothing.
 */
double jp_witness_room(double steps, double expected, double ratio)
{
	const double count = fmin(steps, (1 + ratio) * expected) + 1;
	const double range = K * K * (1 + fmin(ratio, 1)) / 3;
	const double bernstein = (range + sqrt(range * range + 4 * K * K * VARIANCE * count)) / 2;

	return fmax(ratio, 1) * (ENDS + fmin(K * sqrt(count), bernstein));
}

/* Chernoff's bound of a binomial distribution. */
bool jp_witness_exceeds(uint64_t more, uint64_t less, double odds)
{
	const double all = (double)more + (double)less, share = odds / (1 + odds);
	double exponent = 0;

	if ((double)more <= odds * (double)less)
		return false;
	exponent += (double)more * log((double)more / (all * share));
	exponent += less ? (double)less * log((double)less / (all * (1 - share))) : 0;
	return exponent > K * K / 2;
}
