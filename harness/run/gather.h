/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/* A truth and any profiler's capture of the same run, which was not recorded by jp_runner_run(). */
struct jp_gathering {
	const char *truth, *capture;
	const char *injected; /* the capture with names merged; NULL: none */
	const char *methods;  /* methods to judge, as in a case; NULL: the usual ones */
	uint64_t slack; /* difference between both clocks in ns; UINT64_MAX: measure it here */
	/* Results: a line for each part that is not judged, with the reason; and the number of name
	 * sources. */
	char notes[512];
	unsigned int markers; /* mapped jitdumps, whether or not the file exists */
	unsigned int jitdumps, perf_maps;
};

/*
 * Makes the folder of a case in the empty folder @dir: copies the files, the jitdumps and perf maps
 * of the truth's processes and the ELF files that the capture names, and derives what the capture
 * does not state from its records. Returns 0, or -errno and a message, for example if the capture
 * has another clock or time than the truth.
 */
int jp_gather(struct jp_gathering *gathering, const char *dir, struct jp_error *err);
