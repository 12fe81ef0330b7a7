/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/capture/events.h"
#include "harness/capture/options.h"

/* A sampling event that a capture needs. */
struct jp_probe_event {
	const char *missing_name; /* the event's name in the list of missing things */
	void (*attr)(struct perf_event_attr *attr, const struct jp_capture_options *options,
		     const struct jp_abilities *abilities);
};
/* Tries to open the events of a capture with @options, and stores in @missing whatever the kernel
 * refuses. Returns the number of missing things. */
int jp_probe(const struct jp_capture_options *options, const struct jp_probe_event *event,
	     char *missing, size_t size);
/* Does the same as jp_probe() for a capture that samples by a clock. */
int jp_probe_clock(const struct jp_capture_options *options, int argc, char **argv, char *missing,
		   size_t size);
/* Returns whether all rings of this user share the few pages of kernel.perf_event_mlock_kb. A user
 * with CAP_IPC_LOCK in the initial user namespace has no such limit (perf_mmap(),
 * kernel/events/core.c). */
bool jp_rings_are_rationed(void);
/*
 * Returns whether a clock, @config of PERF_TYPE_SOFTWARE, counts. cpu-clock does not from 6.16
 * (bc4394e5e79c "perf: Fix the throttle error of some clock events") to f1f96511b1c4 ("perf: Fix 0
 * count issue of cpu-clock", in 6.18 and stable 6.17): its count is lost when its task leaves a
 * processor. Returns true if the trial fails.
 */
bool jp_probe_counts(uint64_t config);
/* Returns whether jp_probe_counts() holds for all clocks by which captures can sample. */
bool jp_probe_clocks_count(void);
