/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/capture/options.h"

/*
 * The witness: a second sampling clock on the threads of a workload, opened by the runner and not
 * by the capture under test. Whatever stops a thread (the host, a quota, the scheduler) affects
 * both clocks alike, so judging needs no model of the host.
 *
 * Before the workload runs emitted code, it writes its pid to jp_witness_child_fd() and waits until
 * the witness has opened its events, which all later threads and children inherit.
 */
struct jp_witness;

/* Result of a witness. */
struct jp_witness_summary {
	uint64_t samples;
	uint64_t started; /* time in ns by which its events were on; 0: never */
	uint64_t lost;    /* number of samples that were lost because a ring was full */
	char denied[256]; /* why the kernel refused the events; "": it did not */
};

/* Counts of the witness's samples since jp_witness_count_from(). */
struct jp_witness_tally {
	uint64_t samples;
	uint64_t in_code; /* number of samples whose user instruction pointer is in emitted code */
	/* Number of interruptions of the sampling; each may shift the capture's counts. */
	uint64_t gaps;
	uint64_t period; /* ns of a thread's time between two samples */
	bool denied;     /* the kernel gave no samples */
};

/* Opens rings and starts the thread that reads them into DIR/witness, a perf.data file with one
 * event of the clock and the kernel setting in @options. DIR/truth states where emitted code is.
 * Returns NULL and a message on errors other than the kernel's refusal. */
struct jp_witness *jp_witness_open(const struct jp_capture_options *options, const char *dir,
				   struct jp_error *err);
/* Returns the workload's descriptor, for its option --hold-fd; it stays open across exec. */
int jp_witness_child_fd(const struct jp_witness *witness);
/* Closes our copy of the workload's descriptor, so that the workload's death is noticed. */
void jp_witness_close_child_fd(struct jp_witness *witness);
/* Resets the tally, which then counts samples from @time on. */
void jp_witness_count_from(struct jp_witness *witness, uint64_t time);
/* Returns the tally of the samples that were read so far. */
struct jp_witness_tally jp_witness_tally(struct jp_witness *witness);
/* Stops the events, reads the rest and closes the file. Frees @witness, which may be NULL. Returns
 * 0, or -errno and a message if the file cannot be written. */
int jp_witness_close(struct jp_witness *witness, struct jp_witness_summary *summary,
		     struct jp_error *err);
