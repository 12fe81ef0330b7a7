/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/registry.h"

/*
 * Facts: what this kernel does, recorded and compared between kernels, judged by nobody. One probe
 * a fact, which both acts and watches, in a child process of its own on one CPU; a crash or a hang
 * costs that fact only.
 *
 * A value must be the same in each run on the same kernel: addresses relative to a base and in
 * pages, processes by letters, no times, no addresses, nothing that depends on free memory.
 */
enum { JP_ANSWER_ITEMS = 64, JP_ANSWER_TEXT = 160, JP_ANSWER_MISSING = 1024 };

struct jp_answer_item {
	bool is_number;
	uint64_t number;
	char text[JP_ANSWER_TEXT];
};

/* What a probe found. Shared with the process that started it. */
struct jp_answer {
	long how;      /* of the fact that is asked */
	bool complete; /* the probe came to its end */
	bool is_list;
	bool overflow;
	unsigned int count;
	struct jp_answer_item items[JP_ANSWER_ITEMS];
	char missing[JP_ANSWER_MISSING]; /* "": nothing is */
};

struct jp_watch;
struct jp_fact {
	const char *name;  /* FAMILY.WHAT[.HOW] */
	const char *about; /* one sentence: what was done, and what the value means */
	void (*probe)(struct jp_answer *answer);
	long how; /* the probe finds it in its answer */
	/* A probe that begins with jp_watch_code(), whose attr has the bit @bit too unless 0. */
	void (*watched)(struct jp_answer *answer, struct jp_watch *watch);
	unsigned int bit;
	const char *acts; /* where there is neither: harness/facts/acts.h */
};

/* One text, or one more of a list. */
void jp_answer_text(struct jp_answer *answer, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void jp_answer_number(struct jp_answer *answer, uint64_t number);
/* How @call ended: errno's name where it @failed, "ok" otherwise; behind @call and a blank unless
 * that is "". */
void jp_answer_call(struct jp_answer *answer, const char *call, bool failed);
/* It is a list, also where nothing or one thing comes. */
void jp_answer_list(struct jp_answer *answer);
/* One more thing that is missing: there is no value, and this is why. Probes go on after it, so
 * that all that is missing is told; what they find then does not count. */
void jp_answer_missing(struct jp_answer *answer, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The name of an error, "ok" for 0. */
const char *jp_answer_errno(int error);
