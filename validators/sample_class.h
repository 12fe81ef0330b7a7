/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/model/evidence/evidence.h"
#include "harness/model/oracle/truth.h"

/* Where a sample lies, by the truth about its thread at that time. */
enum jp_sample_class {
	JP_SAMPLE_CODE,      /* in emitted code: each method gives it a verdict */
	JP_SAMPLE_OUTSIDE,   /* outside of the time in which samples are taken */
	JP_SAMPLE_ASTRAY,    /* within an activation, but not in its code */
	JP_SAMPLE_EDGE,      /* native code that enters an activation or leaves it */
	JP_SAMPLE_BELOW,     /* native code of a handler over an activation */
	JP_SAMPLE_KERNEL,    /* in the kernel, without a user part */
	JP_SAMPLE_NATIVE,    /* of a thread that is in no activation */
	JP_SAMPLE_UNWATCHED, /* of a process that is not in the truth at that time */
	JP_SAMPLE_CLASSES
};
/* Usual share of samples in activations that are astray, or below. Between the return from a path
 * and the next time stamp of native code, and where a handler begins and ends, lie some
 * instructions that the truth does not cover. */
#define JP_SAMPLE_ASTRAY_USUAL 0.003
#define JP_SAMPLE_BELOW_USUAL  0.01
/* Usual share of all samples from processes that have not yet announced themselves. */
#define JP_SAMPLE_UNWATCHED_USUAL 0.02
const char *jp_sample_class_text(enum jp_sample_class class);

/* The facts that decide the class of a sample. */
struct jp_sample_facts {
	bool code;      /* its ip lies in emitted code */
	bool in_window; /* it lies in the window */
	bool watched;   /* its process is in the truth at that time */
	bool user_part; /* it has user registers */
	bool kernel;    /* it was taken in the kernel */
	enum jp_sample_where {
		JP_IN_NONE,    /* its thread is in no activation */
		JP_IN_EDGE,    /* its thread may be in one, or enters or leaves one */
		JP_IN_HANDLER, /* a handler runs over its activation, and the ip may be there */
		JP_INSIDE,     /* it is in an activation, and no handler runs over that */
		JP_IN_OTHERS,  /* it is in an activation of another process than it states */
	} where;
	bool ended; /* the activation ended with its process, at an unknown time */
};
enum jp_sample_class jp_sample_class_of(const struct jp_sample_facts *facts);

/* State for finding the facts of one sample after the other. */
struct jp_sample_facts_of {
	const struct jp_evidence *evidence;
	const struct jp_truth_activation *hint; /* activation of the previous sample */
	const struct jp_event **waits;          /* acts of the truth: handlers that wait */
	size_t nr_waits, waits_capacity;
};
/* Returns 0 or -ENOMEM; call jp_sample_facts_end() in both cases. */
int jp_sample_facts_begin(struct jp_sample_facts_of *of, const struct jp_evidence *evidence);
void jp_sample_facts_end(struct jp_sample_facts_of *of);
/* Returns whether a stream lost the stack of a sample in a path: the sample has no frame. */
bool jp_sample_stackless(const struct jp_evidence *evidence, const struct jp_event *event);
/* Returns the facts of @event, whose user part is (@ip, @sp) if it @has one. @sp 0: unknown. */
struct jp_sample_facts jp_sample_facts(struct jp_sample_facts_of *of, const struct jp_event *event,
				       bool has, uint64_t ip, uint64_t sp);
/* Returns the cause for a thread that the truth does not have at that time: its process @pid is
 * foreign, or in the truth. */
const char *jp_sample_stranger(const struct jp_evidence *evidence, uint32_t pid);
/* Returns whether the sample is of a process that never announced itself at a gate: a benchmark's
 * runner on its way from fork to sleep runs in the child's interval. Only a gate that leaves
 * mappings and names on records it. */
bool jp_sample_bystander(const struct jp_evidence *evidence, const struct jp_event *event);
/* Returns whether @time lies in the window that the capture states. */
bool jp_sample_in_window(const struct jp_evidence *evidence, uint64_t time);
/* Returns whether @pid is in the truth at @time; UINT64_MAX: at any time. */
bool jp_sample_watched(const struct jp_evidence *evidence, uint32_t pid, uint64_t time);
