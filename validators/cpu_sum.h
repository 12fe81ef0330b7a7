/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"
#include "harness/model/oracle/truth.h"

/* How many samples of a clock some activations have, and how many their CPU time says. */
enum { JP_CPU_STALLS = 2 }; /* of one thread, that are left out */

struct jp_cpu_count {
	uint32_t all;   /* samples from its ENTER to its LEAVE */
	uint32_t inner; /* of them, those that no difference of clocks can move outside */
	uint64_t last;  /* when the last of them was; 0: there is none */
	double gaps;    /* samples that jp_cpu_gap() has room for between them, on their CPUs */
	double own;     /* the same of the thread, which may have been on no CPU meanwhile */
	/* Gaps that jp_cpu_count_gap() has put there, with where they end. */
	uint32_t skipped, stood, late;
};

/* An activation that lacks more samples than chance takes. */
struct jp_cpu_stall {
	double periods; /* that its CPU time says */
	struct jp_cpu_count count;
};

/* Of some activations together. */
struct jp_cpu_sum {
	uint64_t activations, all, inner;
	double expected;
	double due;       /* samples that there must be, but for chance and loss */
	double on;        /* periods from the begin of each to its end, by the clock on the wall */
	double variance;  /* of the activations, each by itself */
	double between;   /* of what lies between them */
	double hidden;    /* samples that are lacking where there are gaps for them */
	double lack;      /* samples that activations lack, those that are left out among them */
	double cut;       /* samples that gaps in activations across a window's border hide */
	uint64_t stayed;  /* activations whose threads did */
	double staying;   /* periods of CPU time that these took */
	uint64_t whole;   /* of them, those of a whole period at least */
	uint64_t lacking; /* of those, the ones with fewer samples than whole periods */
	uint64_t overdue; /* of those, the ones that end when a sample is late by half a period */
	uint64_t surplus; /* of @stayed, those with more than one sample more */
	uint64_t skipped; /* of @stayed, gaps of whole periods where a timer must have expired */
	uint64_t stood;   /* of @skipped, those in which a CPU may have stood still */
	uint64_t late;    /* of @stayed, gaps of other lengths */
	uint64_t nr_stalls;
	struct jp_cpu_stall stalls[JP_CPU_STALLS];
};

/*
 * How many samples a CPU that stood still from @from to @to may have hidden, with one at @to, which
 * came late: none in less than three periods, since what loses a sample now and then leaves two.
 */
double jp_cpu_gap(uint64_t from, uint64_t to, double period);
/* Adds an activation, which is sampled, to @usual, how long those of a path take. -ENOMEM. */
int jp_cpu_usual_add(struct jp_map *usual, const struct jp_truth_activation *activation);
/*
 * The time from one sample of a thread, at @from, to its next, at @to. A timer that expires late
 * stays with its whole periods (hrtimer_forward_now()): where nobody was switched, two samples that
 * are some of them apart, and on time, had others between them. One that is late ends a gap of any
 * length. @last is the last activation that began, that of @count.
 *
 * A CPU that stood still within the timer's handler, too, leaves two samples on time, and its
 * thread is charged for it. So the activation of the first of them took longer than the shortest of
 * its path in @usual; where it has no other, nobody can tell.
 */
void jp_cpu_count_gap(struct jp_cpu_count *count, const struct jp_truth *truth,
		      const struct jp_map *usual, const struct jp_truth_activation *last,
		      uint64_t from, uint64_t to, double period);
/* How many @overdue are chance, of so many @whole: a host may give a CPU back as one ends. */
double jp_cpu_overdue_most(uint64_t whole);
/* How many @skipped are chance, in so many standard deviations, where so many were @late. */
double jp_cpu_skipped_most(uint64_t late, double sigmas);
/* One more, @gap periods after the last one: on the clock, of which its thread may have run less.
 * @period is in ns. */
void jp_cpu_sum_add(struct jp_cpu_sum *sum, const struct jp_truth_activation *activation,
		    double gap, double period, const struct jp_cpu_count *count);
/* One that lies across a border of a window: how much CPU time it took within, nobody knows. */
void jp_cpu_sum_cut(struct jp_cpu_sum *sum, const struct jp_truth_activation *activation,
		    double period, const struct jp_cpu_count *count);
/* All of one thread are in: leaves stalls out, says what is due, and takes the way of counting that
 * leaves less to chance: one by one, or all the time on each of @cpus without what lies between.
 * @off: the share of its time in which the event does not count. @born: together with its event,
 * whose first sample comes after a whole period. */
void jp_cpu_sum_settle(struct jp_cpu_sum *sum, uint32_t cpus, double off, bool born);
/* Whether its thread was on one CPU from its begin to its end, and nobody else was. */
bool jp_cpu_stayed(const struct jp_truth_activation *activation);
/* How many of so many activations that stayed may be @lacking, or @surplus, by chance, in so many
 * standard deviations. */
double jp_cpu_odd_most(uint64_t activations, double sigmas);
/* @sum is of threads that are done: it has no stalls itself. */
void jp_cpu_sum_join(struct jp_cpu_sum *sum, const struct jp_cpu_sum *more);
