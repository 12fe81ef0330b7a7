/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Exceptions that follow from a value of a case line, or from a limit of the kernel or of a method:
 * no case needs an `allow` line for them. An excuse is registered (JP_EXCUSE) in the file that
 * registers the value. A line of the case for the same metric and cause replaces it; a control has
 * no excuse. Of several excuses one without a bound counts, else the first.
 */
struct jp_excuse {
	const char *name; /* unique */
	/* Patterns of words, separated by blanks; the case line has a word for each: "attach",
	 * "--synth=none", "publish=map:*", "-B" of "inject=perf,-B". It has none for a
	 * pattern behind "!". NULL: every case. */
	const char *when;
	const char *metrics; /* patterns, separated by blanks */
	const char *causes;  /* words of validators or ids of causes, separated by blanks; "*" */
	/* The bound: at most as many as this metric counts; "A/B": this share of all that the
	 * exception's metric judged; "predicted": the method walked each sample as the truth
	 * predicts; NULL: any number, as the value concerns all of them. */
	const char *most;
	const char *reason;
};
