// SPDX-License-Identifier: GPL-2.0-only
/* How many samples of a clock are due for the CPU time of a thread. */
#include <math.h>

#include "harness/selftest/check.h"
#include "validators/cpu_sum.h"

static const double PERIOD = 5e6;

/* @count activations of @cpu ns each, one right after the other, that have no sample. */
static struct jp_cpu_sum sum_of(unsigned count, uint64_t cpu, bool born)
{
	const struct jp_truth_activation one = {.leave = cpu, .cpu = cpu};
	struct jp_cpu_sum sum = {0};

	for (unsigned i = 0; i < count; i++)
		jp_cpu_sum_add(&sum, &one, i ? 0 : 1, PERIOD, &(struct jp_cpu_count){0});
	jp_cpu_sum_settle(&sum, 2, 0.05, born);
	return sum;
}

/* The event of a new thread begins with it: what is less than a period has none. */
static void new_threads(void)
{
	static const struct {
		unsigned count;
		uint64_t cpu;
		double due;
	} rows[] = {{1, 4000000, 0},
		    {2, 4000000, 1},
		    {1, 5200000, 0},
		    {1, 5300000, 1},
		    {3, 5000000, 2}};
	struct jp_cpu_sum all = {0};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct jp_cpu_sum sum = sum_of(rows[i].count, rows[i].cpu, true);

		check(sum.due == rows[i].due, "row %zu: %g samples are due, not %g", i, rows[i].due,
		      sum.due);
		jp_cpu_sum_join(&all, &sum);
	}
	check(all.due == 4, "whole periods of one thread do not help another: %g", all.due);
}

/* Where in a period an older thread was is not known: a part of a period counts as a part. */
static void older_threads(void)
{
	struct jp_cpu_sum sum = sum_of(1, 4000000, false);

	check(fabs(sum.due - 0.76) < 1e-9, "0.76 samples are due, not %g", sum.due);
}

int main(void)
{
	new_threads();
	older_threads();
	return check_done();
}
