/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/case/case.h"
#include "harness/format/rundir/capture_info.h"
#include "harness/judge/findings.h"
#include "harness/judge/listener.h"

enum jp_outcome {
	JP_PASS,
	JP_FAIL,
	JP_SKIP,
	JP_ERROR,
	JP_XFAIL,
	JP_XPASS,
	JP_TIMEOUT,
	JP_CRASH, /* a signal killed a profiler: distinct from wrong results */
	JP_OUTCOMES
};
const char *jp_outcome_text(enum jp_outcome outcome);

/* One case that was run or judged again. */
struct jp_result {
	const struct jp_case *cas;
	enum jp_outcome outcome;
	char reasons[2048]; /* reasons, one line each; "" for a plain PASS */
	char crashed[16];   /* the signal that killed a profiler ("SIGSEGV"); "": none */
	double seconds;
	double sampled_seconds; /* seconds for which the capture sampled; 0: unknown */
	bool tells_losses;      /* the capture is able to report lost records and samples */
	bool contradicted;      /* the capture contradicts the runner's observations */
	uint64_t out_of_scope;  /* bit i: cas->expectations[i] does not apply to these tools */
	struct jp_findings findings;
	struct jp_capture_info info;
	const struct jp_listener *listener; /* set by the caller: follows judging; NULL: none */
};

/*
 * Judges one run directory against its case: validators, controls, expectations. Depends on the
 * directory only; run and judge both use it. Sets outcome (PASS, FAIL, ERROR), why and findings. If
 * the file `crash` has a profiler's last output, nothing else is judged: CRASH, or ERROR if no
 * signal killed it, or XFAIL if the case expects that version to crash (`inject allow tool-crash`,
 * `record allow tool-crash`), or an excuse that it refuses its input (`refused`).
 */
void jp_judge_case(const struct jp_case *cas, const char *dir, struct jp_result *result);

/* Adds one line to result->why and sets the outcome to @outcome, unless the result already has a
 * worse one: FAIL outranks ERROR, ERROR outranks PASS. */
void jp_note(struct jp_result *result, enum jp_outcome outcome, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
