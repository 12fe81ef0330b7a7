/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/findings.h"
#include "harness/model/evidence/evidence.h"
#include "harness/model/oracle/oracle.h"
#include "harness/model/space/replay.h"
#include "harness/model/symbols/names.h"

/* The verdict on the stack that one method found for one sample. */
struct jp_decision {
	enum jp_method method;
	enum jp_verdict verdict;
	const char *cause;                  /* NULL: no cause */
	const uint64_t *frames;             /* the found stack, innermost frame first */
	uint32_t nr_frames;                 /* 0: the sample was not walked */
	const struct jp_truth_stack *truth; /* NULL: unknown */
};

/* A function that a jitdump publishes. */
struct jp_publication {
	const struct jp_truth_code *code;
	uint64_t time;      /* time of its LOAD record, in ns */
	uint64_t hidden_at; /* time of the first mapping record over the function, in ns, after
			    which perf no longer finds it; 0: never */
	const char *hider;  /* name in the mapping record over the function; NULL: none */
};

/* Callbacks that receive each event and verdict while a case is judged, in order to draw a picture
 * of it. They return 0 or -ENOMEM. */
struct jp_listener {
	/* Handles an event of the capture before the validators judge it. */
	int (*handle)(void *context, const struct jp_evidence *evidence,
		      const struct jp_event *event);
	/* Handles a verdict on @sample, whose address space is in @spaces. */
	int (*decide)(void *context, const struct jp_evidence *evidence, struct jp_replay *spaces,
		      const struct jp_event *sample, const struct jp_decision *decision);
	/* Handles a function of a jitdump, in the state after the last judged file was read. */
	int (*publish)(void *context, const struct jp_publication *publication);
	/* Receives @names after the capture was read, for instance to look up perf maps. */
	int (*name)(void *context, struct jp_names *names);
	void *context;
};
