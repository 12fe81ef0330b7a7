/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "harness/base/error.h"

/* A request to judge a profiler's perf.data with the truth of the same run, which this program's
 * runner did not start. */
struct jp_gathering {
	const char *truth, *capture;
	const char *injected; /* the capture after `perf inject` or similar; NULL: none */
	/* Unwinding methods to judge, as methods= of a case; NULL: the default methods. */
	const char *methods;
	/* Largest error of event times against the truth's clock, in ns; UINT64_MAX: measure it on
	 * this machine. */
	uint64_t slack;
	/* The members from here on are results. A line for each part of the capture that cannot be
	 * judged, with the reason. */
	char notes[512];
	unsigned int markers; /* number of mapped jitdumps, whether or not their files exist */
	unsigned int jitdumps, perf_maps; /* numbers of copied files */
};

/*
 * Turns the empty folder @dir into the folder of a case: copies the truth, the captures, the
 * jitdumps and perf maps of the truth's processes, and the ELF files that the capture names.
 * Derives the other files of such a folder from the capture's records. Returns 0, or -errno and a
 * message, for example if the capture has another clock than the truth, or was recorded at another
 * time.
 */
int jp_gather(struct jp_gathering *gathering, const char *dir, struct jp_error *err);
