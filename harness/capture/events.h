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

/* Abilities of the kernel and the user, found by trying. */
struct jp_abilities {
	bool kernel; /* kernel samples */
	bool lost;   /* PERF_FORMAT_LOST */
};

/* Sampled user registers, by architecture. */
extern const uint64_t jp_registers_user;

/* Calls perf_event_open(). Returns a descriptor, or -errno. */
int jp_perf_open(struct perf_event_attr *attr, pid_t tid, int cpu);
void jp_attr_sampling(struct perf_event_attr *attr, const struct jp_capture_options *options,
		      const struct jp_abilities *abilities, uint32_t frequency);
void jp_attr_sideband(struct perf_event_attr *attr, const struct jp_capture_options *options,
		      const struct jp_abilities *abilities);
/* Sets a breakpoint on the instruction at @addr; the sample precedes its execution. */
void jp_attr_breakpoint(struct perf_event_attr *attr, const struct jp_capture_options *options,
			const struct jp_abilities *abilities, uint64_t addr);
/* Computes the layout of the event's records. */
void jp_attr_layout(const struct perf_event_attr *attr, struct jp_perf_layout *layout);
/* Sets the witness's clock (harness/capture/witness.h): the clock of @options with another period.
 */
void jp_attr_witness(struct perf_event_attr *attr, const struct jp_capture_options *options,
		     const struct jp_abilities *abilities);
/* Sets an event that owns a ring and is never enabled. */
void jp_attr_ring(struct perf_event_attr *attr);
/* Tries @options on the calling thread (or system-wide). Returns 0, or -errno of the refusal. */
int jp_abilities_try(const struct jp_capture_options *options, struct jp_abilities *abilities);
/* Stores "EACCES (kernel.perf_event_paranoid=3)" or similar in @text. */
void jp_perf_reason(int error, char *text, size_t size);
/* Returns the number in a file of /proc/sys, or @otherwise. */
long jp_sysctl(const char *name, long otherwise);
