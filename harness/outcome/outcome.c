// SPDX-License-Identifier: GPL-2.0-only
#include "harness/outcome/outcome.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *jp_outcome_text(enum jp_outcome outcome)
{
	static const char *const text[JP_OUTCOMES] = {
		[JP_PASS] = "PASS",       [JP_FAIL] = "FAIL",   [JP_SKIP] = "SKIP",
		[JP_ERROR] = "ERROR",     [JP_XFAIL] = "XFAIL", [JP_XPASS] = "XPASS",
		[JP_TIMEOUT] = "TIMEOUT", [JP_CRASH] = "CRASH",
	};

	return (unsigned)outcome < JP_OUTCOMES ? text[outcome] : "?";
}

void jp_note(struct jp_result *result, enum jp_outcome outcome, const char *fmt, ...)
{
	size_t length = strlen(result->reasons), capacity = sizeof(result->reasons) - length;
	va_list ap;

	if (outcome == JP_FAIL || (outcome == JP_ERROR && result->outcome != JP_FAIL))
		result->outcome = outcome;
	if (length && capacity > 1) {
		result->reasons[length++] = '\n';
		result->reasons[length] = '\0';
		capacity--;
	}
	va_start(ap, fmt);
	vsnprintf(result->reasons + length, capacity, fmt, ap);
	va_end(ap);
}
