/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/registry.h"

/*
 * A fact is an observed behaviour of the running kernel, recorded without a judgement. Its probe
 * performs some actions and reads the resulting perf records, in a child process on one CPU, so
 * that a crash or a hang loses only that fact.
 *
 * Each run on the same kernel must give the same value: addresses in pages relative to a base,
 * processes as letters, no times, nothing that depends on free memory.
 */
enum { JP_ANSWER_ITEMS = 64, JP_ANSWER_TEXT = 160, JP_ANSWER_MISSING = 1024 };

struct jp_answer_item {
	bool is_number;
	uint64_t number;
	char text[JP_ANSWER_TEXT];
};

/* The answer of a probe: the fact's value, or what was missing. In memory shared with the parent of
 * the probe's process. */
struct jp_answer {
	long parameter; /* jp_fact.parameter of the requested fact */
	bool complete;  /* the probe has ended without a crash */
	bool is_list;
	bool overflow;
	unsigned int count;
	struct jp_answer_item items[JP_ANSWER_ITEMS];
	char missing[JP_ANSWER_MISSING]; /* why there is no value; "": nothing is missing */
};

struct jp_watch;
struct jp_fact {
	const char *name; /* FAMILY.WHAT[.HOW], such as "process.exec.by_thread" */
	const char
		*description; /* one sentence: what the probe does, and the meaning of the value */
	void (*probe)(struct jp_answer *answer);
	long parameter; /* parameter that the probe finds in its answer */
	/* A probe to which the event of jp_watch_sideband() is passed, already open. Unless @bit is
	 * 0, its attr also has that flag. */
	void (*watched)(struct jp_answer *answer, struct jp_watch *watch);
	unsigned int bit;
	/* Text of jp_acts_probe() that describes the probe, if there is no function. */
	const char *acts;
};

/* Sets the value of the fact, or adds an entry if the value is a list. */
void jp_answer_text(struct jp_answer *answer, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void jp_answer_number(struct jp_answer *answer, uint64_t number);
/* Adds "@call RESULT", or only RESULT if @call is "". RESULT is the name of errno if the system
 * call @failed, else "ok". */
void jp_answer_call(struct jp_answer *answer, const char *call, bool failed);
/* Makes the value a list, even if it has no or one entry. */
void jp_answer_list(struct jp_answer *answer);
/* Adds a reason why the fact has no value here. Probes continue, so that all such reasons are
 * stated; values are ignored then. */
void jp_answer_missing(struct jp_answer *answer, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds, as jp_answer_missing() does, that @call failed with errno. */
void jp_answer_failed(struct jp_answer *answer, const char *call);
/* Returns the name of an error; "ok" for 0. */
const char *jp_answer_errno(int error);
