/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"
#include "harness/model/evidence/evidence.h"
#include "harness/model/evidence/witness_room.h"

/* How many samples two clocks on the same threads may have by chance, beside each other. */

/* The witness's samples of one thread. */
struct jp_clock_thread {
	uint64_t samples; /* within the windows */
	uint64_t gaps;    /* of those, samples before which the thread or its CPU stood still */
	uint64_t near;    /* of those, samples near the one before */
	uint64_t inside;  /* in activations; where samples have no time, in jp_clock_asked() */
	uint64_t user;    /* surely in activations, in user space, and within the windows */
	double unseen;    /* samples that the witness may lack because the kernel throttled it */
};

struct jp_clock_time {
	uint64_t from, to; /* ns by CLOCK_MONOTONIC */
};

/* Key of a thread in maps: the thread ID of one process may be another's later. */
static inline uint64_t jp_clock_key(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}
/* Returns whether capture and witness sampled @pid throughout from @from to @to, in ns. */
bool jp_clock_watched(const struct jp_evidence *evidence, uint32_t pid, uint64_t from, uint64_t to);
/* Returns whether the kernel throttled the witness in @tid at @time: only the capture's clock ran,
 * if any. */
bool jp_clock_throttled(const struct jp_evidence *evidence, uint32_t tid, uint64_t time);
/* Fills @threads, jp_clock_key() -> struct jp_clock_thread. Returns 0 or -ENOMEM. */
int jp_clock_threads(const struct jp_evidence *evidence, struct jp_map *threads);
/* Adds the counts of @more to @sum. */
void jp_clock_join(struct jp_clock_thread *sum, const struct jp_clock_thread *more);
/* Returns the time in which a capture may have sampled whose samples have no time: from when the
 * runner asked for it until the profiler had ended. */
struct jp_clock_time jp_clock_asked(const struct jp_evidence *evidence);
/* Returns the number of the witness's samples of @activation in @time. */
uint64_t jp_clock_activation(const struct jp_evidence *evidence,
			     const struct jp_truth_activation *activation,
			     struct jp_clock_time time);
/*
 * Returns the samples of the capture, for each of the witness, that a clock of @period ns has. 0:
 * @period is 0, or the run has no witness.
 */
double jp_clock_ratio(const struct jp_evidence *evidence, uint64_t period);
/*
 * Returns whether two samples of a thread, @apart ns, are near each other. A clock of @period ns
 * gives two such only after an interruption: a timer was late, or has another phase.
 */
static inline bool jp_clock_is_near(uint64_t apart, uint64_t period)
{
	return apart < period / 2;
}
/* Returns the samples of a stream with @evidence->declared.period that the witness expects in
 * activations. 0: the stream states no period, or the run has no witness. */
uint64_t jp_clock_due(const struct jp_evidence *evidence);
