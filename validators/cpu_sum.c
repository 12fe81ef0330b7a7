// SPDX-License-Identifier: GPL-2.0-only
#include "validators/cpu_sum.h"

#include <errno.h>
#include <math.h>

#include "harness/base/order.h"

/*
 * A CPU of a virtual machine stands still where its host gives it to another (a load of 20 lost
 * 252 s of 2.5 hours so, by `steal` of /proc/stat), and the thread that was there is charged for
 * some of it: 40 ms were seen, and 138 ms at a load of 24. That is one activation each time: as
 * many of a thread are left out, if each lacks more samples than chance takes, and no more than
 * fit into STALL_NS. Samples that are taken away are missing in all activations of their time.
 */
enum { STALL_PERIODS = 4, GAP_PERIODS = 3 };
static const double STALL_NS = 200e6;

/*
 * A thread that left its CPU meanwhile lacks that time: two switches take more than this. It is
 * less than 0.2 us in nine of ten activations of a millisecond, and the clock on the wall may be
 * slewed by half of this in two.
 */
enum { STAYED_NS = 1000 };
/*
 * Of 27,625 activations that stayed none lacked a sample, on two CPUs with a load of 16. But a host
 * stops a CPU for less than a tick, and nobody tells: as many in a row, and one of 200, are no
 * fault.
 */
enum { IN_A_ROW = 4 };
static const double RARE = 0.005;

/*
 * A sample that is late by this share of a period is not on time: of 27,000 at a load of 9, 500 us
 * apart, 98 in 100 were. Of those that a stall ends, as many are on time by chance as lie so close
 * to a whole period; and two of them where none was late.
 */
enum { COINCIDENCES = 2 };
static const double ON_TIME = 1 / 32.0, SKIP_PERIODS = 1.5;

/*
 * A CPU that stands still in a timer's handler, and loses a sample, does so for a period but for
 * the handler, and the sample that is gone needed no handler: 18 us each of 125. Three that did
 * took 106 to 119 us longer than others of their path.
 */
static const double STOOD = 2 / 3.0;

/*
 * A timer that a stopped CPU made late expires as soon as it goes on, before its thread does
 * anything: of 57,397 activations of a period or more in 391 recordings at loads of 5 to 13 none
 * ended when a sample was overdue.
 */
enum { OVERDUE = 1 };
static const double OVERDUE_RARE = 0.001;

/* Of all activations of one path. */
struct usual {
	uint64_t activations;
	uint64_t shortest; /* ns of CPU time */
};

static double variance(double periods)
{
	double part = periods - floor(periods);

	return part * (1 - part);
}

static double lacks(const struct jp_cpu_stall *stall)
{
	return stall->periods - stall->count.all;
}

/* Keeps the worst of them. */
static void add_stall(struct jp_cpu_sum *sum, struct jp_cpu_stall stall, double period)
{
	struct jp_cpu_stall *least = &sum->stalls[0];

	if (lacks(&stall) <= STALL_PERIODS || lacks(&stall) * period > STALL_NS)
		return;
	if (sum->nr_stalls < JP_CPU_STALLS) {
		sum->stalls[sum->nr_stalls++] = stall;
		return;
	}
	for (size_t i = 1; i < JP_CPU_STALLS; i++)
		if (lacks(&sum->stalls[i]) < lacks(least))
			least = &sum->stalls[i];
	if (lacks(&stall) > lacks(least))
		*least = stall;
}

double jp_cpu_gap(uint64_t from, uint64_t to, double period)
{
	const double periods = to > from ? (double)(to - from) / period : 0;

	return periods >= GAP_PERIODS ? periods - 1 : 0;
}

/* How long of the time from @from to @to its thread was on one CPU for certain: in activations that
 * stayed, from *@first to @last. 0: where one did not, or where who is on no CPU may come to
 * another between two. */
static double stay(const struct jp_truth *truth, const struct jp_truth_activation *last,
		   uint64_t from, uint64_t to, double most_between,
		   const struct jp_truth_activation **first)
{
	double sum = 0;

	for (const struct jp_truth_activation *one = last;
	     one >= truth->activations && one->tid == last->tid && to > from; one--) {
		const uint64_t begin = jp_max(one->enter, from), end = jp_min(one->leave, to);

		if (begin >= to)
			continue;
		if (end <= from)
			break;
		if (one->pid != last->pid || !jp_cpu_stayed(one) ||
		    (double)(to - end) > most_between)
			return 0;
		*first = one;
		sum += (double)(end - begin);
		to = begin;
	}
	return (double)(to - from) > most_between ? 0 : sum;
}

int jp_cpu_usual_add(struct jp_map *usual, const struct jp_truth_activation *activation)
{
	struct usual *of = jp_map_at(usual, (uintptr_t)activation->path, sizeof(*of));

	if (!of)
		return -ENOMEM;
	of->shortest = of->activations++ ? jp_min(of->shortest, activation->cpu) : activation->cpu;
	return 0;
}

/* Whether its CPU may have stood still in it for @gone ns, but for the timer's handler. */
static bool may_have_stood(const struct jp_map *usual, const struct jp_truth_activation *activation,
			   double gone)
{
	const struct usual *of = jp_map_find(usual, (uintptr_t)activation->path);

	return !of || of->activations == 1 ||
	       (double)activation->cpu - (double)of->shortest >= STOOD * gone;
}

void jp_cpu_count_gap(struct jp_cpu_count *count, const struct jp_truth *truth,
		      const struct jp_map *usual, const struct jp_truth_activation *last,
		      uint64_t from, uint64_t to, double period)
{
	const double periods = (double)(to - from) / period;
	const bool on_time = fabs(periods - round(periods)) <= ON_TIME;
	const struct jp_truth_activation *first = last;

	if (stay(truth, last, from, to, ON_TIME * period, &first) <= SKIP_PERIODS * period)
		return;
	count->skipped += on_time;
	count->late += !on_time;
	count->stood += on_time && may_have_stood(usual, first, (round(periods) - 1) * period);
}

double jp_cpu_skipped_most(uint64_t late, double sigmas)
{
	const double usual = 2 * ON_TIME / (1 - 2 * ON_TIME) * (double)late;

	return COINCIDENCES + usual + sigmas * sqrt(usual);
}

/*
 * What of its gaps an activation was on a CPU for: all that it was on none for lies in them, and in
 * the time behind its last sample.
 */
static double gaps_on_cpu(const struct jp_truth_activation *activation, double period,
			  const struct jp_cpu_count *count)
{
	const double off =
		(double)(activation->leave - activation->enter) - (double)activation->cpu;
	const double last = jp_cpu_gap(count->last ?: activation->enter, activation->leave, period);

	return fmax(fmin(count->gaps, count->own + last - fmax(off, 0) / period), 0);
}

/* Of what an activation lacks, the part that its gaps explain: less than one sample is chance. */
static double hidden(const struct jp_cpu_stall *stall)
{
	const double lack = lacks(stall);

	return lack > 1 ? fmin(lack, stall->count.gaps) : 0;
}

bool jp_cpu_stayed(const struct jp_truth_activation *activation)
{
	const uint64_t passed = activation->leave - activation->enter;

	return passed < activation->cpu + STAYED_NS && activation->cpu < passed + STAYED_NS;
}

double jp_cpu_odd_most(uint64_t activations, double sigmas)
{
	const double usual = RARE * (double)activations;

	return IN_A_ROW + usual + sigmas * sqrt(usual);
}

double jp_cpu_overdue_most(uint64_t whole)
{
	return OVERDUE + OVERDUE_RARE * (double)whole;
}

/* It has one event there, whose timer expires once in each whole period, wherever in one it begins,
 * and once more at most. */
static void add_stayed(struct jp_cpu_sum *sum, const struct jp_truth_activation *activation,
		       const struct jp_cpu_stall *stall, double period)
{
	const struct jp_cpu_count *count = &stall->count;
	const uint64_t last = count->last ?: activation->enter;

	sum->stayed++;
	sum->staying += stall->periods;
	sum->whole += stall->periods >= 1;
	sum->lacking += count->all < floor(stall->periods);
	sum->overdue += count->all < floor(stall->periods) && activation->leave > last &&
			(double)(activation->leave - last) > SKIP_PERIODS * period;
	sum->surplus += count->inner > floor(stall->periods) + 1;
	sum->skipped += count->skipped;
	sum->stood += count->stood;
	sum->late += count->late;
}

void jp_cpu_sum_add(struct jp_cpu_sum *sum, const struct jp_truth_activation *activation,
		    double gap, double period, const struct jp_cpu_count *count)
{
	const double periods = (double)activation->cpu / period;
	struct jp_cpu_stall stall = {periods, *count};

	stall.count.gaps = gaps_on_cpu(activation, period, count);
	sum->activations++;
	sum->all += count->all;
	sum->inner += count->inner;
	sum->expected += periods;
	sum->on += (double)(activation->leave - activation->inside) / period;
	sum->variance += variance(periods);
	sum->between += gap < 0.5 ? variance(gap) : variance(0.5);
	sum->hidden += hidden(&stall);
	sum->lack += lacks(&stall) > 1 ? lacks(&stall) : 0;
	if (jp_cpu_stayed(activation))
		add_stayed(sum, activation, &stall, period);
	add_stall(sum, stall, period);
}

void jp_cpu_sum_cut(struct jp_cpu_sum *sum, const struct jp_truth_activation *activation,
		    double period, const struct jp_cpu_count *count)
{
	sum->cut += activation->cpu == UINT64_MAX ? count->gaps
						  : gaps_on_cpu(activation, period, count);
}

static void leave_out_stalls(struct jp_cpu_sum *sum)
{
	for (size_t i = 0; i < sum->nr_stalls; i++) {
		const struct jp_cpu_stall *stall = &sum->stalls[i];

		sum->activations--;
		sum->all -= stall->count.all;
		sum->inner -= stall->count.inner;
		sum->expected -= stall->periods;
		sum->variance -= variance(stall->periods);
		sum->hidden -= hidden(stall);
	}
}

void jp_cpu_sum_settle(struct jp_cpu_sum *sum, uint32_t cpus, double off, bool born)
{
	double whole = sum->between + cpus * variance(0.5);

	leave_out_stalls(sum);
	if (whole < sum->variance)
		sum->variance = whole;
	sum->due = sum->expected * (1 - off);
	if (born)
		sum->due = floor(sum->due);
}

void jp_cpu_sum_join(struct jp_cpu_sum *sum, const struct jp_cpu_sum *more)
{
	sum->activations += more->activations;
	sum->all += more->all;
	sum->inner += more->inner;
	sum->expected += more->expected;
	sum->due += more->due;
	sum->on += more->on;
	sum->variance += more->variance;
	sum->hidden += more->hidden;
	sum->lack += more->lack;
	sum->cut += more->cut;
	sum->stayed += more->stayed;
	sum->staying += more->staying;
	sum->whole += more->whole;
	sum->surplus += more->surplus;
	sum->lacking += more->lacking;
	sum->overdue += more->overdue;
	sum->skipped += more->skipped;
	sum->stood += more->stood;
	sum->late += more->late;
	sum->nr_stalls += more->nr_stalls;
}
