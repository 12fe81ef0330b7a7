/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/base/option.h"
#include "harness/format/rundir/capture_info.h"

/* What all policies take. */
struct jp_capture_options {
	enum jp_synth synth;
	bool chain;     /* kernel callchains */
	bool deferred;  /* their user part when the thread returns there: kernels from 6.19 */
	uint32_t stack; /* bytes of user stack + registers, 0: none; multiple of 8, at most 65528 */
	uint32_t frequency; /* samples per second and thread; lowered where rings are too small */
	bool task_clock;    /* task-clock instead of cpu-clock */
	bool kernel;        /* sample the kernel too; dropped where not permitted */
	bool need_kernel;   /* it must be permitted */
	bool system_wide;
	bool all_maps;          /* attr.mmap_data too */
	bool late_elf;          /* open mapped files by their paths, when all is over */
	uint64_t ring;          /* bytes of each sample ring, 0: from stack, frequency and 250 ms */
	uint64_t sideband_ring; /* of each ring of mappings, processes and names, 0: the default */
};

struct jp_capture_options jp_capture_defaults(void);
/* The rows of a command line for the struct jp_capture_options @options. */
const struct jp_option *jp_capture_rows(void *options);
/* Takes one --option[=value] of these. 1 taken, 0 not one of them, < 0 error. */
int jp_capture_option(struct jp_capture_options *options, const char *arg, struct jp_error *err);
