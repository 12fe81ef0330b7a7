/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/case/case.h"
#include "harness/format/rundir/capture_info.h"
#include "harness/judge/findings.h"

enum jp_outcome {
	JP_PASS,
	JP_FAIL,
	JP_SKIP,
	JP_ERROR,
	JP_XFAIL,
	JP_XPASS,
	JP_TIMEOUT,
	JP_CRASH, /* a profiler was killed by a signal: kept apart from what it did wrong alive */
	JP_OUTCOMES
};
const char *jp_outcome_text(enum jp_outcome outcome);

/* One case, run or judged again. */
struct jp_result {
	const struct jp_case *cas;
	enum jp_outcome outcome;
	char why[2048];   /* one line each; "" for a plain PASS */
	char crashed[16]; /* the signal that a profiler was killed by ("SIGSEGV"), "": none was */
	double seconds;
	bool tells_losses;     /* the capture knows what it lost */
	bool contradicted;     /* what the capture states is not what the runner saw */
	uint64_t out_of_scope; /* bit i: cas->expectations[i] does not hold for these tools */
	struct jp_findings findings;
	struct jp_capture_info info;
};

/*
 * Judges one run directory against its case: validators, controls, expectations. A pure function of
 * the directory; run and judge both end here. Sets outcome (PASS, FAIL, ERROR), why and findings.
 * Where the file `crash` has the last words of a profiler there is nothing else to judge: CRASH, or
 * ERROR where no signal killed it; XFAIL where the case says that this version of it does so
 * (`inject allow tool-crash`, `record allow tool-crash`).
 */
void jp_judge_case(const struct jp_case *cas, const char *dir, struct jp_result *result);

/* One more line of why; FAIL outranks ERROR, ERROR outranks PASS. */
void jp_note(struct jp_result *result, enum jp_outcome outcome, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
