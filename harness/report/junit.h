/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/outcome/outcome.h"

/*
 * junit.xml: a suite for each study, for engines that read nothing else. FAIL and XPASS are a
 * failure, ERROR, TIMEOUT and CRASH an error, SKIP and XFAIL skipped; `type` has the outcome
 * itself.
 * @results: in the order of case names. Written whole, once all is known.
 */
void jp_junit_write(FILE *out, const struct jp_result *results, size_t count);
