/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/model/evidence/evidence.h"
#include "harness/model/oracle/truth.h"

/* Where a sample lies, by what the truth says of its thread at that time. */
enum jp_sample_class {
	JP_SAMPLE_CODE,      /* in emitted code: it gets a verdict of each method */
	JP_SAMPLE_OUTSIDE,   /* outside of the time in which samples are taken */
	JP_SAMPLE_ASTRAY,    /* within an activation, and in nothing that it runs */
	JP_SAMPLE_EDGE,      /* native code that enters an activation or leaves it */
	JP_SAMPLE_BELOW,     /* native code of a handler over an activation */
	JP_SAMPLE_KERNEL,    /* in the kernel, without a user part */
	JP_SAMPLE_NATIVE,    /* of a thread that is in no activation */
	JP_SAMPLE_UNWATCHED, /* of a process that is not in the truth then */
	JP_SAMPLE_CLASSES
};
/* What share of the samples in activations may be astray, or below, and is no fault: between the
 * return from a path and the first time that native code takes, and where a handler begins and
 * ends, lie some instructions that no truth tells of. */
#define JP_SAMPLE_ASTRAY_USUAL 0.003
#define JP_SAMPLE_BELOW_USUAL  0.01
/* And of all samples, of processes that have not told yet that they are there. */
#define JP_SAMPLE_UNWATCHED_USUAL 0.02
const char *jp_sample_class_text(enum jp_sample_class class);

/* What decides. */
struct jp_sample_facts {
	bool code;      /* its ip lies in emitted code */
	bool in_window; /* it lies in the window */
	bool watched;   /* its process is in the truth then */
	bool user_part; /* it holds the registers of the user */
	bool kernel;    /* the kernel ran */
	enum jp_sample_where {
		JP_IN_NONE,    /* its thread is in no activation */
		JP_IN_EDGE,    /* it may be, or enters or leaves one just then */
		JP_IN_HANDLER, /* a handler runs over its activation, and the ip may be there */
		JP_INSIDE,     /* it is in an activation, and nothing else runs over that */
		JP_IN_OTHERS,  /* it is in an activation, of another process than the sample says */
	} where;
	bool ended; /* the activation ended with its process: nobody knows just when */
};
enum jp_sample_class jp_sample_class_of(const struct jp_sample_facts *facts);

/* Who asks for the facts of one sample after the other. */
struct jp_sample_facts_of {
	const struct jp_evidence *evidence;
	const struct jp_truth_activation *hint; /* that of the sample before */
	const struct jp_event **waits;          /* of the truth: handlers that wait, as acts are */
	size_t nr_waits, waits_capacity;
};
/* 0 or -ENOMEM; free it in both cases. */
int jp_sample_facts_begin(struct jp_sample_facts_of *of, const struct jp_evidence *evidence);
void jp_sample_facts_end(struct jp_sample_facts_of *of);
/* Whether a stream lost the stack of a sample in a path: there is no frame of it. */
bool jp_sample_stackless(const struct jp_evidence *evidence, const struct jp_event *event);
/* The facts of @event, whose user part is (@ip, @sp) if it @has one; @sp 0: not known. */
struct jp_sample_facts jp_sample_facts(struct jp_sample_facts_of *of, const struct jp_event *event,
				       bool has, uint64_t ip, uint64_t sp);
/* The cause of what is of a thread that the truth does not have then: its process @pid is
 * another's, or the truth's. */
const char *jp_sample_stranger(const struct jp_evidence *evidence, uint32_t pid);
/* Whether it is of a process that a gate told nothing of: a benchmark's runner that is still on its
 * way from the fork to its sleep runs in the interval of the child, and never announced itself.
 * Only a gate that leaves mappings and names on tells of it. */
bool jp_sample_bystander(const struct jp_evidence *evidence, const struct jp_event *event);
/* Whether samples were to be taken at @time, as the capture states it. */
bool jp_sample_in_window(const struct jp_evidence *evidence, uint64_t time);
/* Whether @pid is in the truth at @time; at any time: UINT64_MAX. */
bool jp_sample_watched(const struct jp_evidence *evidence, uint32_t pid, uint64_t time);
