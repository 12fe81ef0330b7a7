/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/* A truth and what any profiler made of that run, without the runner that keeps the rest. */
struct jp_gathering {
	const char *truth, *capture;
	const char *injected; /* the capture with names merged into it; NULL: none */
	const char *methods;  /* ways of walking to judge, as a case names them; NULL: the usual */
	uint64_t slack; /* between the clocks of both, ns; UINT64_MAX: measure this machine's */
	/* Given back: what cannot be judged, and why, a line each; and what publishes names. */
	char notes[512];
	unsigned int markers; /* mappings of jitdumps, be they there or not */
	unsigned int jitdumps, perf_maps;
};

/*
 * Makes the folder of a case of them in @dir, which is there and empty: copies of the files, of
 * jitdumps and perf maps of the truth's processes, of the ELF files that the capture names; and
 * what the capture does not say of itself, derived from its records. 0, or -errno and a message:
 * also where the capture is of another clock or time than the truth.
 */
int jp_gather(struct jp_gathering *gathering, const char *dir, struct jp_error *err);
