/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/base/map.h"
#include "harness/model/evidence/evidence.h"
#include "harness/model/evidence/witness.h"

/* The times of a clock's samples on each CPU, whatever thread ran there. Zero at first. */
struct jp_cpu_times {
	struct jp_cpu_time {
		uint32_t cpu;
		uint64_t time;
	} * times;
	size_t count, capacity;
};

/* Adds a sample. Returns 0 or -ENOMEM. */
int jp_cpu_times_add(struct jp_cpu_times *times, uint32_t cpu, uint64_t time);
/* Sorts the samples after the last jp_cpu_times_add(). */
void jp_cpu_times_sort(struct jp_cpu_times *times);
/* Returns the index of the first sample on @cpu, or on a later CPU, after @time. */
size_t jp_cpu_times_find_after(const struct jp_cpu_times *times, uint32_t cpu, uint64_t time);
/* Returns the time of the first sample on @cpu after @time, or UINT64_MAX. */
uint64_t jp_cpu_times_get_next(const struct jp_cpu_times *times, uint32_t cpu, uint64_t time);
void jp_cpu_times_free(struct jp_cpu_times *times);

/* The capture and the witness sample the same threads, each by its own clock. These functions count
 * the witness's samples, to predict how many samples the capture must have. */

/* The witness's samples of one thread. */
struct jp_clock_thread {
	uint64_t samples;   /* within the windows */
	uint64_t nr_gaps;   /* samples after a gap, in which the thread or its CPU did not run */
	uint64_t nr_near;   /* samples near the previous sample: jp_clock_are_samples_near() */
	uint64_t nr_inside; /* samples in activations, within the windows or, if the capture has no
			    times, within jp_clock_get_sampled_time() */
	uint64_t nr_user;   /* samples surely in activations, in user space, within the windows */
	double unseen;      /* samples that the witness may lack because of throttling */
};

struct jp_clock_time {
	uint64_t earliest, latest; /* ns by CLOCK_MONOTONIC */
};

/* Returns the key of a thread for a struct jp_map. The key includes the pid, because another
 * process may reuse a tid. */
static inline uint64_t jp_clock_key(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}
/* Returns whether capture and witness sampled @pid throughout from @from_ns to @to_ns, in ns.
 */
bool jp_clock_was_watched(const struct jp_evidence *evidence, uint32_t pid, uint64_t from_ns,
			  uint64_t to_ns);
/* Returns whether the kernel throttled the witness's event of thread @tid at @time. */
bool jp_clock_was_throttled(const struct jp_evidence *evidence, uint32_t tid, uint64_t time);
/* Counts the witness's samples of each thread in @threads, which maps jp_clock_key() to struct
 * jp_clock_thread. Returns 0 or -ENOMEM. */
int jp_clock_count_by_thread(const struct jp_evidence *evidence, struct jp_map *threads);
/* Adds the counts of @more to @sum. */
void jp_clock_add_counts(struct jp_clock_thread *sum, const struct jp_clock_thread *more);
/* Returns the time in which the profiler may have sampled: from its start to its end. */
struct jp_clock_time jp_clock_get_sampled_time(const struct jp_evidence *evidence);
/* Returns the number of the witness's samples of @activation in @time. */
uint64_t jp_clock_count_witness_samples(const struct jp_evidence *evidence,
					const struct jp_truth_activation *activation,
					struct jp_clock_time time);
/* Returns how many samples a clock of @period ns has for each sample of the witness, or 0 if
 * @period is 0 or the run has no witness. */
double jp_clock_compute_ratio(const struct jp_evidence *evidence, uint64_t period);
/* Returns whether two samples of a thread, @apart ns, are near each other. A clock of @period ns
 * has such samples only if a timer was late or changed its phase. */
static inline bool jp_clock_are_samples_near(uint64_t apart, uint64_t period)
{
	return apart < period / 2;
}
/* Returns how many samples of a stream the witness expects in activations, at the declared period.
 * Returns 0 if the stream declares none or the run has no witness. */
uint64_t jp_clock_count_expected_samples(const struct jp_evidence *evidence);
