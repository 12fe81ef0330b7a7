/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/case/case.h"
#include "harness/judge/findings.h"

/* Returns the registered excuse of @exception, one of @findings, in @cas (harness/base/excuse.h) as
 * an `allow` line, or NULL. */
const struct jp_expectation *jp_excuse_find(const struct jp_case *cas,
					    const struct jp_findings *findings,
					    const struct jp_exception *exception);
