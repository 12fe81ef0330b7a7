/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/capture/options.h"
#include "harness/format/perfdata/decode.h"

/* The two kinds of event. Sideband (mappings, processes, names) has its own event and ring, so that
 * samples cannot displace its records and its losses are counted separately. */
enum jp_stream { JP_SAMPLING, JP_SIDEBAND, JP_STREAMS };

/* What the kernel lets this user do, found by trying. */
struct jp_abilities {
	bool kernel; /* the kernel may be sampled */
	bool lost;   /* read_format may contain PERF_FORMAT_LOST */
};

/* attr.sample_regs_user of this architecture. */
extern const uint64_t jp_registers_user;

/* Calls perf_event_open(). Returns a descriptor, or -errno. */
int jp_perf_open(struct perf_event_attr *attr, pid_t tid, int cpu);
void jp_attr_sampling(struct perf_event_attr *attr, const struct jp_capture_options *options,
		      const struct jp_abilities *abilities, uint32_t frequency);
void jp_attr_sideband(struct perf_event_attr *attr, const struct jp_capture_options *options,
		      const struct jp_abilities *abilities);
/* Fills @attr for samples by a breakpoint on the instruction at @addr; the sample is taken before
 * the instruction executes. */
void jp_attr_breakpoint(struct perf_event_attr *attr, const struct jp_capture_options *options,
			const struct jp_abilities *abilities, uint64_t addr);
/* Stores in @layout the layout of the records of an event with @attr. */
void jp_attr_layout(const struct perf_event_attr *attr, struct jp_perf_layout *layout);
/* Fills @attr for the witness's event (harness/capture/witness.h): the clock of @options with
 * another period. */
void jp_attr_witness(struct perf_event_attr *attr, const struct jp_capture_options *options,
		     const struct jp_abilities *abilities);
/* Fills @attr for an event that only owns a ring and is never enabled. */
void jp_attr_ring(struct perf_event_attr *attr);
/* Tries the events of @options on the calling thread (or system-wide), the simplest first, and
 * stores in @abilities what the kernel permits. Returns 0, or -errno if it refuses the simplest
 * sampling event or the sideband event. */
int jp_abilities_try(const struct jp_capture_options *options, struct jp_abilities *abilities);
/* Stores in @text why perf_event_open() failed with @error: "EACCES (kernel.perf_event_paranoid=3)"
 * or similar. */
void jp_perf_explain_error(int error, char *text, size_t size);
/* Returns the number in /proc/sys/kernel/@name, or @otherwise if there is none. */
long jp_sysctl_read(const char *name, long otherwise);
