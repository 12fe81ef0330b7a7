/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Bounds on the chance difference between the sample counts of two clocks on the same threads. */

/* Shortest gap, in periods of the witness: a longer interval between two samples of a thread shows
 * that a switch or a stall may have shifted the clocks' phases. Any value between one and two
 * periods separates gaps from ordinary intervals. */
#define JP_WITNESS_GAP 1.25

/* Returns by how many samples a count may differ by chance from @expected, which is @ratio times
 * the witness's count over the same time. @steps: number of interruptions in that time. */
double jp_witness_compute_chance_bound(double steps, double expected, double ratio);
/* Returns how many interruptions have the variance of @gaps gaps of a thread that exchanges its
 * events with other threads at each switch (perf_event_context_sched_out()). The timers then follow
 * the CPU, and each of their samples hits this or another thread by chance: for each sample of the
 * witness after a gap, the capture's count has a variance of @ratio, and that of the witness a
 * variance of @ratio squared. */
double jp_witness_count_steps_of_exchanges(double gaps, double ratio);
/* Returns whether chance cannot explain that @larger events of one kind occurred together with
 * @smaller events of another kind, if @odds events of the first kind are expected for each event of
 * the second. */
bool jp_witness_is_beyond_chance(uint64_t larger, uint64_t smaller, double odds);
