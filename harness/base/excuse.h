/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * An excuse allows exceptions (deviations that validators find) which follow from a value of a case
 * line, or from a limit of the kernel or of an unwinding method, so that no case needs an `allow`
 * line for them. An excuse is registered (JP_EXCUSE) in the file that registers the value. An
 * `allow` line of the case for the same metric and cause replaces the excuse. Controls (captures
 * that are wrong on purpose) have no excuses. If several excuses apply, one without a bound counts,
 * else their bounds add up.
 */
struct jp_excuse {
	const char *name; /* a unique name */
	/* Patterns of words, separated by blanks. The excuse applies to a case whose line has a
	 * word for each pattern ("attach", "--synth=none", "publish=map:*", "-B" of
	 * "inject=perf,-B", "at=STEP") and none for a pattern behind "!". NULL: to every case. With
	 * --publish-children=HOW, "publish=" means HOW in forked processes. */
	const char *condition;
	const char *metrics; /* patterns of metrics, separated by blanks */
	/* Causes, by validators' words or by ids, separated by blanks; "*": any. */
	const char *causes;
	/* The bound: a metric, whose count is the limit; "A/B", a share of all that the exception's
	 * metric judged; "predicted" allows stacks that are as the truth predicts for the method,
	 * "other-tables" others that contain code for which the jitdumps have tables of other code.
	 * "killed", "inherited", "forked", "replaced", "shared" allow exceptions in processes that
	 * a signal ended, in inherited code, in images that were not launched, in code of a pid
	 * before its last image, in code in an address space of two processes. NULL: no bound. */
	const char *limit;
	const char *reason;
};
