/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/outcome/outcome.h"

/* Writes one line of results.jsonl (docs/results-format.md). */
void jp_results_write(FILE *out, const struct jp_result *result);
