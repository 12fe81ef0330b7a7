/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/* Longest time until the kernel continues a throttled event, in ns: a tick with CONFIG_HZ=100. */
enum { JP_THROTTLED_NS = 10000000 };

/* One sample of the witness, a second clock that samples the workload's threads independently of
 * the capture. */
struct jp_witness_sample {
	uint64_t time, ip; /* ns by CLOCK_MONOTONIC; @ip may be the kernel's */
	uint32_t pid, tid, cpu;
	bool user; /* @ip is a user address */
	/* The kernel stopped the thread's event until its next sample: it throttles an event with
	 * too many samples in a tick (__perf_event_account_interrupt()). */
	bool throttled;
};

/* Contents of the file `witness` of a run directory (harness/capture/witness.h). */
struct jp_witnessed {
	struct jp_witness_sample *samples; /* sorted by tid, then time */
	size_t count;
	uint64_t throttles; /* number of times that the kernel throttled the event in a thread */
	uint64_t period;    /* ns of a thread's CPU time between two samples */
	char denied[256];   /* why the kernel refused the witness's events, from the file
			       witness.denied; "": it did not */
};

/* Reads the witness's samples from the perf.data @path. Returns 0, or -errno and a message if the
 * file is no perf.data of one event whose samples all have the same period, and a time, a thread
 * and a CPU. */
int jp_witnessed_load(struct jp_witnessed *witnessed, const char *path, struct jp_error *err);
void jp_witnessed_free(struct jp_witnessed *witnessed);
/* Returns the index of the first sample of @tid that is not before @time. */
size_t jp_witnessed_find_first_from(const struct jp_witnessed *witnessed, uint32_t tid,
				    uint64_t time);
/* Returns for how many ns after sample @i the kernel throttled the thread's witness, or 0. */
uint64_t jp_witnessed_throttled(const struct jp_witnessed *witnessed, size_t i);

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
