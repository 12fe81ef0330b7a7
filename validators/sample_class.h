/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/map.h"
#include "harness/format/event.h"
#include "harness/model/evidence/evidence.h"
#include "harness/model/oracle/truth.h"

/* Where a sample lies, according to what the truth states about its thread at the sample's time. */
enum jp_sample_class {
	JP_SAMPLE_CODE,      /* in emitted code: each method has a verdict on it */
	JP_SAMPLE_OUTSIDE,   /* before or after the window in which the capture samples */
	JP_SAMPLE_ASTRAY,    /* during an activation, but not in the activation's code */
	JP_SAMPLE_EDGE,      /* in native code that enters or leaves an activation */
	JP_SAMPLE_BELOW,     /* in native code of a signal handler during an activation */
	JP_SAMPLE_KERNEL,    /* in the kernel, without a user part */
	JP_SAMPLE_NATIVE,    /* its thread is in no activation */
	JP_SAMPLE_UNWATCHED, /* its process is not in the truth at that time */
	JP_SAMPLE_CLASSES
};
/* Usual share of JP_SAMPLE_ASTRAY and JP_SAMPLE_BELOW samples among those in activations. The truth
 * does not cover the instructions between the return from a path and the next time stamp, nor the
 * first and last instructions of a handler. */
#define JP_SAMPLE_ASTRAY_USUAL 0.003
#define JP_SAMPLE_BELOW_USUAL  0.01
/* Usual share of samples from processes that have not announced themselves yet. */
#define JP_SAMPLE_UNWATCHED_USUAL 0.02
/* Returns the name of @class in results. */
const char *jp_sample_class_text(enum jp_sample_class class);

/* The facts that determine the class of a sample. */
struct jp_sample_facts {
	bool code;      /* its ip lies in emitted code */
	bool in_window; /* its time lies in the window */
	bool watched;   /* its process is in the truth at that time */
	bool user_part; /* it has user registers */
	bool kernel;    /* it was taken in the kernel */
	enum jp_sample_where {
		JP_IN_NONE,    /* its thread is in no activation */
		JP_IN_EDGE,    /* its thread enters or leaves an activation */
		JP_IN_HANDLER, /* a signal handler interrupted its activation, and the ip may lie
				  in the handler */
		JP_INSIDE,     /* its thread is in an activation, not in a handler */
		JP_IN_OTHERS,  /* the activation at that time belongs to another process */
	} place;
	bool ended; /* the activation ended with its process, at an unknown time */
};
enum jp_sample_class jp_sample_classify(const struct jp_sample_facts *facts);

/* State for finding the facts of samples. */
struct jp_sample_facts_of {
	const struct jp_evidence *evidence;
	const struct jp_truth_activation *hint; /* activation of the previous sample */
	const struct jp_event **waits;          /* acts of the truth: waits in signal handlers */
	size_t nr_waits, waits_capacity;
};
/* Fills @source. Returns 0 or -ENOMEM; call jp_sample_facts_end() in both cases. */
int jp_sample_facts_begin(struct jp_sample_facts_of *source, const struct jp_evidence *evidence);
void jp_sample_facts_end(struct jp_sample_facts_of *source);
/* Returns whether @event is a sample of a profiler's stream without any frame, taken while its
 * thread ran a path. */
bool jp_sample_has_no_frame(const struct jp_evidence *evidence, const struct jp_event *event);
/* Returns the facts of @event. @ip, @sp: its user registers if @has_user; @sp 0: unknown. */
struct jp_sample_facts jp_sample_facts(struct jp_sample_facts_of *source,
				       const struct jp_event *event, bool has_user, uint64_t ip,
				       uint64_t sp);
/* Returns the cause for a thread of @pid that the truth does not have at that time: "unknown" if
 * the truth has the process, else "other-process". */
const char *jp_sample_stranger_cause(const struct jp_evidence *evidence, uint32_t pid);
/* Returns whether a sample in an interval belongs to a process that did not announce itself at a
 * gate for records, such as a benchmark's runner between fork and sleep. */
bool jp_sample_is_bystander(const struct jp_evidence *evidence, const struct jp_event *event);
/* Returns whether @time lies in the window that the capture reports, or in an interval if the
 * capture is gated. */
bool jp_sample_is_in_window(const struct jp_evidence *evidence, uint64_t time);
/* Returns whether the truth has a process @pid at @time; @time UINT64_MAX: at any time. */
bool jp_sample_is_watched(const struct jp_evidence *evidence, uint32_t pid, uint64_t time);
struct jp_sample_native {
	uint64_t within;    /* all samples in activations */
	uint64_t native[2]; /* not in emitted code; [0]: in user space, [1]: in the kernel */
	uint64_t border[2]; /* those of @native near the border of their activation */
};
/* Counts the witness's samples in activations. */
void jp_sample_count_witnessed(const struct jp_evidence *evidence, struct jp_sample_native *counts);

/* Stores in @ended, by thread, that the record @event begins or ends a thread. Returns 0 or
 * -ENOMEM. */
int jp_ended_threads_note(struct jp_map *ended, const struct jp_event *event);
/* Returns whether the sample @event was taken after the EXIT record of its thread, in the kernel
 * and without registers. do_exit() writes the record, and then calls exit_mm() (since Linux 6.16),
 * which takes the user memory. A capture of all CPUs samples the thread until it has left the CPU.
 */
bool jp_ended_threads_have(const struct jp_map *ended, const struct jp_event *event);

/* Returns a digest of the sample @event and of the attributes (perf_event_attr) of its perf event.
 * Add up the digests of all samples: the sum does not depend on the order of samples. */
uint64_t jp_sample_digest(const struct jp_event *event);
