/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/base/option.h"
#include "harness/format/rundir/capture_info.h"

/* Options of every capture. */
struct jp_capture_options {
	enum jp_synth synth;
	bool chain; /* record callchains, which the kernel walks by frame pointers */
	/* attr.defer_callchain: the kernel walks the user part of a callchain when the thread
	 * returns to user space (from Linux 6.19) */
	bool deferred;
	/* attr.sample_max_stack: largest number of addresses in a callchain; 0:
	 * kernel.perf_event_max_stack */
	uint16_t max_stack;
	/* Size of the user stack dump in bytes, which adds user registers to samples; 0: no dump; a
	 * multiple of 8, at most 65528. */
	uint32_t stack;
	/* Requested samples per second and thread; a capture takes fewer if its rings are too
	 * small. */
	uint32_t frequency;
	uint32_t limit;   /* highest frequency that the kernel does not throttle */
	bool task_clock;  /* task-clock instead of cpu-clock */
	bool kernel;      /* sample the kernel too; ignored if not permitted */
	bool need_kernel; /* fail if the kernel cannot be sampled */
	bool system_wide;
	bool all_maps; /* set attr.mmap_data */
	bool late_elf; /* open mapped files only at the end, by their paths */
	/* Size of each sample ring in bytes; 0: enough for 250 ms, from @stack and @frequency. */
	uint64_t ring;
	uint64_t sideband_ring; /* size of each sideband ring in bytes; 0: the default */
};

struct jp_capture_options jp_capture_defaults(void);
/* Lowers @options->limit so that the kernel does not throttle the witness either. */
void jp_capture_leave_witness(struct jp_capture_options *options);
/* Returns the frequency at which a capture with @options samples. */
uint32_t jp_capture_frequency(const struct jp_capture_options *options);
/* Returns the rows of a command line for the struct jp_capture_options @options. */
const struct jp_option *jp_capture_rows(void *options);
/* Handles @arg, one "--option[=value]". Returns 1; 0 if it is none of these options; or -errno and
 * a message. */
int jp_capture_option(struct jp_capture_options *options, const char *arg, struct jp_error *err);
