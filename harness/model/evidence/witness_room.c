// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/evidence/witness_room.h"

#include <math.h>

/* Number of samples by which the phases of both clocks at the start and the end of a stretch can
 * change a count. */
static const double ENDS = 2;
/* The bounds below fail with a probability of exp(-K * K / 2), which is 5 * 10^-7. */
static const double K = 5.39;
/* Largest variance that one interruption adds to the difference of the counts, in samples squared.
 * A context switch makes each clock's phase uniform over its period: (1 + ratio^2) / 6. A stall as
 * long as the witness's period delays a sample of the witness for certain, and one of the capture
 * with probability @ratio: ratio * (1 - ratio). */
static const double VARIANCE = 0.25;
/* An interruption shifts a timer's phase by less than a period, so a count changes by one sample at
 * most. Hoeffding's inequality bounds the sum by that range, and Bernstein's by the variance; the
 * smaller bound applies. The samples in a time span are a sum of events whose variance is at most
 * their mean, however many interruptions there are. */
double jp_witness_compute_chance_bound(double steps, double expected, double ratio)
{
	const double variance = fmin(VARIANCE * (steps + 1), (1 + ratio) * expected + 1);
	const double range = K * K * (1 + fmin(ratio, 1)) / 3;
	const double bernstein = (range + sqrt(range * range + 4 * K * K * variance)) / 2;

	return fmax(ratio, 1) * (ENDS + fmin(K * sqrt(steps + 1), bernstein));
}

double jp_witness_count_steps_of_exchanges(double gaps, double ratio)
{
	return gaps * fmax(ratio * (1 + ratio) / VARIANCE, 1);
}

/* Uses Chernoff's bound of a binomial distribution. */
bool jp_witness_is_beyond_chance(uint64_t larger, uint64_t smaller, double odds)
{
	const double total = (double)larger + (double)smaller, share = odds / (1 + odds);
	double exponent = 0;

	if ((double)larger <= odds * (double)smaller)
		return false;
	exponent += (double)larger * log((double)larger / (total * share));
	exponent += smaller ? (double)smaller * log((double)smaller / (total * (1 - share))) : 0;
	return exponent > K * K / 2;
}
