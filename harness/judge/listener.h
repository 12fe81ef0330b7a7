/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/findings.h"
#include "harness/model/evidence/evidence.h"
#include "harness/model/oracle/oracle.h"
#include "harness/model/space/replay.h"
#include "harness/model/symbols/names.h"

/* The verdict on the stack that one method walked from one sample. */
struct jp_decision {
	enum jp_method method;
	enum jp_verdict verdict;
	const char *cause;                  /* NULL: no cause */
	const uint64_t *frames;             /* innermost first */
	uint32_t nr_frames;                 /* 0: the sample was not walked */
	const struct jp_truth_stack *truth; /* NULL: unknown */
};

/* A function that a jitdump publishes. */
struct jp_publication {
	const struct jp_truth_code *code;
	uint64_t time;     /* of its load, in ns */
	uint64_t hidden;   /* when a mapping record came that covers it, in ns; 0: never */
	const char *hider; /* that record's name; NULL: none */
};

/* Follows a judgement, to draw it. The functions return 0 or -ENOMEM. */
struct jp_listener {
	/* Handles an event of the capture, before it is judged. */
	int (*handle)(void *context, const struct jp_evidence *evidence,
		      const struct jp_event *event);
	/* Handles a verdict on @sample, whose address space is in @spaces. */
	int (*decide)(void *context, const struct jp_evidence *evidence, struct jp_replay *spaces,
		      const struct jp_event *sample, const struct jp_decision *decision);
	/* Handles a publication, as the last file that was judged shows it. */
	int (*publish)(void *context, const struct jp_publication *publication);
	/* Handles the names, which can be asked for perf maps, once the capture was read. */
	int (*name)(void *context, struct jp_names *names);
	void *context;
};
