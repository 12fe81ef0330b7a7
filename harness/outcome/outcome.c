// SPDX-License-Identifier: GPL-2.0-only
#include "harness/outcome/outcome.h"

const char *jp_outcome_text(enum jp_outcome outcome)
{
	static const char *const text[JP_OUTCOMES] = {
		[JP_PASS] = "PASS",       [JP_FAIL] = "FAIL",   [JP_SKIP] = "SKIP",
		[JP_ERROR] = "ERROR",     [JP_XFAIL] = "XFAIL", [JP_XPASS] = "XPASS",
		[JP_TIMEOUT] = "TIMEOUT", [JP_CRASH] = "CRASH",
	};

	return (unsigned)outcome < JP_OUTCOMES ? text[outcome] : "?";
}
