/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/outcome/outcome.h"

/* Writes junit.xml, for CI systems that read no other format: a suite for each study. FAIL and
 * XPASS become failures; ERROR, TIMEOUT and CRASH errors; SKIP and XFAIL skipped tests. The
 * attribute `type` contains our outcome. @results: in the order of case names. */
void jp_junit_write(FILE *out, const struct jp_result *results, size_t count);
