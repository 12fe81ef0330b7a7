// SPDX-License-Identifier: GPL-2.0-only
/* Samples against CPU time: what activations add up to, and what a stalled CPU takes away. */
#include <math.h>

#include "harness/selftest/check.h"
#include "validators/cpu_sum.h"

static const double PERIOD = 1e6; /* ns */
enum { GAPS = 12 };

static bool near(double one, double other)
{
	return fabs(one - other) < 1e-9;
}

/* An activation of so many periods on the CPU, twice as long on the clock: all that it was on none
 * for lies in its gaps. */
static void add(struct jp_cpu_sum *sum, double periods, double gap, uint32_t all, uint32_t inner)
{
	const struct jp_truth_activation activation = {.cpu = (uint64_t)(periods * PERIOD),
						       .enter = 1000,
						       .inside = 1000,
						       .leave = 1000 +
								(uint64_t)(2 * periods * PERIOD)};
	const struct jp_cpu_count count = {.all = all,
					   .inner = inner,
					   .last = activation.leave,
					   .gaps = GAPS,
					   .own = GAPS + periods};

	jp_cpu_sum_add(sum, &activation, gap, PERIOD, &count);
}

static void adds(void)
{
	struct jp_cpu_sum sum = {0}, more = {0};

	add(&sum, 2.25, 0.1, 3, 2);
	add(&sum, 4.5, 7, 4, 4);
	check(sum.activations == 2 && sum.all == 7 && sum.inner == 6, "samples are counted");
	check(near(sum.expected, 6.75) && near(sum.on, 13.5), "periods by CPU time and by clock");
	check(near(sum.variance, 0.25 * 0.75 + 0.25), "chance of each activation's rest");
	check(near(sum.between, 0.1 * 0.9 + 0.25),
	      "and of what lies between, at most half a period's");
	jp_cpu_sum_join(&more, &sum);
	jp_cpu_sum_join(&more, &sum);
	check(more.activations == 4 && more.all == 14 && more.inner == 12 &&
		      near(more.expected, 13.5) && near(more.on, 27) &&
		      near(more.variance, 2 * sum.variance),
	      "threads add up");
}

/* Of three that lack more than chance takes the two worst are left out, none of half a second. */
static void stalls(void)
{
	struct jp_cpu_sum sum = {0};

	add(&sum, 20, 0, 14, 14);
	add(&sum, 50, 0, 30, 30);
	add(&sum, 40, 0, 30, 30);
	add(&sum, 600, 0, 100, 100);
	add(&sum, 10, 0, 6, 6);
	check(sum.nr_stalls == 2, "%d stalls", (int)sum.nr_stalls);
	jp_cpu_sum_settle(&sum, 1, 0, false);
	check(sum.activations == 3 && sum.all == 120 && near(sum.expected, 630),
	      "the two worst that fit are left out: %d of %g", (int)sum.all, sum.expected);
}

/* What is lacking counts as hidden by a host as far as gaps have room for it. */
static void hidden(void)
{
	struct jp_cpu_sum sum = {0}, more = {0};

	check(near(jp_cpu_gap(1000, 1000 + 3 * (uint64_t)PERIOD, PERIOD), 2), "a gap of three");
	check(near(jp_cpu_gap(1000, 999 + 3 * (uint64_t)PERIOD, PERIOD), 0), "less is none");
	check(near(jp_cpu_gap(1000, 999, PERIOD), 0), "nor is what goes back");
	add(&sum, 20.5, 0, 20, 20);
	check(near(sum.hidden, 0), "half a sample is chance");
	add(&sum, 20, 0, 17, 17);
	check(near(sum.hidden, 3), "three fit into the gaps: %g", sum.hidden);
	add(&sum, 40, 0, 10, 10);
	check(near(sum.hidden, 3 + GAPS), "of thirty as many as the gaps: %g", sum.hidden);
	jp_cpu_sum_settle(&sum, 1, 0, false);
	check(near(sum.hidden, 3), "a stall is left out with its gaps: %g", sum.hidden);
	check(near(sum.lack, 33), "and lacks its samples all the same: %g", sum.lack);
	jp_cpu_sum_join(&more, &sum);
	jp_cpu_sum_join(&more, &sum);
	check(near(more.hidden, 6) && near(more.lack, 66), "threads add up");
}

/* Three samples are lacking; gaps in which the thread was on no CPU explain none of them. */
static void off_cpu(void)
{
	const uint64_t period = (uint64_t)PERIOD;
	struct jp_truth_activation activation = {.enter = 1000, .cpu = 20 * period};
	static const struct {
		double own;    /* room in the thread's gaps */
		uint64_t on;   /* periods from its begin to its end by the clock */
		uint64_t rest; /* of them, behind its last sample */
		double hidden;
	} rows[] = {
		{GAPS, 20, 0, 3}, {GAPS, 30, 0, 2}, {GAPS, 32, 0, 0}, {GAPS, 40, 0, 0},
		{GAPS, 32, 3, 2}, {GAPS, 32, 2, 0}, {GAPS, 10, 0, 3},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const bool stayed = rows[i].on == 20;
		struct jp_cpu_sum sum = {0};
		struct jp_cpu_count count = {.all = 17, .gaps = GAPS, .own = rows[i].own};

		activation.leave = activation.enter + rows[i].on * period;
		count.last = activation.leave - rows[i].rest * period;
		jp_cpu_sum_add(&sum, &activation, 0, PERIOD, &count);
		check(near(sum.hidden, rows[i].hidden), "row %zu: %g", i, sum.hidden);
		check(sum.stayed == stayed && sum.lacking == stayed && !sum.surplus,
		      "row %zu: a gap, and the thread %s", i, stayed ? "stayed" : "left");
	}
}

/* Nobody knows how much of its CPU time lies in the window: its gaps count, less its time off. */
static void cut(void)
{
	const uint64_t period = (uint64_t)PERIOD;
	const struct jp_cpu_count count = {
		.all = 1, .gaps = GAPS, .own = GAPS, .last = 1000 + 20 * period};
	struct jp_truth_activation activation = {
		.enter = 1000, .leave = 1000 + 20 * period, .cpu = 20 * period};
	struct jp_cpu_sum sum = {0}, more = {0};

	jp_cpu_sum_cut(&sum, &activation, PERIOD, &count);
	check(near(sum.cut, GAPS) && !sum.activations && !sum.all, "its gaps: %g", sum.cut);
	activation.cpu = 10 * period;
	jp_cpu_sum_cut(&sum, &activation, PERIOD, &count);
	check(near(sum.cut, GAPS + 2), "less ten periods on no CPU: %g", sum.cut);
	activation.cpu = UINT64_MAX;
	jp_cpu_sum_cut(&sum, &activation, PERIOD, &count);
	check(near(sum.cut, GAPS + 2 + GAPS), "none that ended: %g", sum.cut);
	jp_cpu_sum_join(&more, &sum);
	jp_cpu_sum_join(&more, &sum);
	check(near(more.cut, 2 * sum.cut), "threads add up");
}

int main(void)
{
	adds();
	stalls();
	hidden();
	off_cpu();
	cut();
	check(jp_cpu_overdue_most(3000) == 4, "of 3,000 four may be overdue");
	return check_done();
}
