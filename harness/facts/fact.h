/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/registry.h"

/*
 * Facts: behaviour of this kernel, recorded and compared between kernels, without a judgement. Each
 * fact has a probe, which acts and watches, in a child process on one CPU; a crash or a hang loses
 * only that fact.
 *
 * A value must be the same in each run on the same kernel: addresses relative to a base and in
 * pages, processes as letters, no times, nothing that depends on free memory.
 */
enum { JP_ANSWER_ITEMS = 64, JP_ANSWER_TEXT = 160, JP_ANSWER_MISSING = 1024 };

struct jp_answer_item {
	bool is_number;
	uint64_t number;
	char text[JP_ANSWER_TEXT];
};

/* Answer of a probe, in memory shared with its parent. */
struct jp_answer {
	long how;      /* parameter of the requested fact */
	bool complete; /* the probe came to its end */
	bool is_list;
	bool overflow;
	unsigned int count;
	struct jp_answer_item items[JP_ANSWER_ITEMS];
	char missing[JP_ANSWER_MISSING]; /* "": nothing */
};

struct jp_watch;
struct jp_fact {
	const char *name;  /* FAMILY.WHAT[.HOW] */
	const char *about; /* one sentence: the act, and the meaning of the value */
	void (*probe)(struct jp_answer *answer);
	long how; /* parameter in the probe's answer */
	/* A probe with an open jp_watch_sideband(), whose attr also has the flag @bit unless 0. */
	void (*watched)(struct jp_answer *answer, struct jp_watch *watch);
	unsigned int bit;
	const char *acts; /* the probe's text, if there is no function: harness/facts/acts.h */
};

/* Sets the value, or adds one to a list. */
void jp_answer_text(struct jp_answer *answer, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void jp_answer_number(struct jp_answer *answer, uint64_t number);
/* Adds the result of @call: errno's name if it @failed, else "ok"; after @call and a blank unless
 * @call is "". */
void jp_answer_call(struct jp_answer *answer, const char *call, bool failed);
/* Makes the value a list, also with no or one entry. */
void jp_answer_list(struct jp_answer *answer);
/* Adds a missing thing: then there is no value, for this reason. Probes continue, so that all
 * missing things are stated; later values do not count. */
void jp_answer_missing(struct jp_answer *answer, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds @call, which failed with errno, to the missing things. */
void jp_answer_failed(struct jp_answer *answer, const char *call);
/* Returns the name of an error; "ok" for 0. */
const char *jp_answer_errno(int error);
