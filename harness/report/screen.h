/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/outcome/outcome.h"

/* Results for people at a terminal, in place of KTAP. No line is wider than the terminal. */
struct jp_screen {
	bool is_terminal; /* standard output is a terminal */
	bool verbose;     /* all cases and figures are shown, also in KTAP */
	unsigned int width;
	const char *dir;  /* run directory; NULL: it is removed in any case */
	bool temporary;   /* @dir is kept only if a case failed */
	uint64_t started; /* start of the output, CLOCK_MONOTONIC in ns */
};

/* Sets up the screen for standard output. */
void jp_screen_begin(struct jp_screen *screen, bool verbose);
/* Prints @result if a person should see it immediately: a failure, or any result if verbose. */
void jp_screen_result(const struct jp_screen *screen, const struct jp_result *result);
/* Prints the end of the output, in at most 24 lines: the totals, the failures and the commands that
 * show more. @plan: number of cases. @cut_short: why the run ended early, or NULL. */
void jp_screen_summary(const struct jp_screen *screen, const struct jp_result *results,
		       size_t count, size_t plan, const char *cut_short);
/* Returns whether @outcome fails a run. */
bool jp_screen_is_failure(enum jp_outcome outcome);
