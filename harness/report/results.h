/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/base/json.h"
#include "harness/outcome/outcome.h"

/* Adds to @json, as an element of an array, the object that jp_results_write() writes. */
void jp_results_write_into(struct jp_json *json, const struct jp_result *result);
/* Writes one line of results.jsonl (docs/results-format.md). */
void jp_results_write(FILE *out, const struct jp_result *result);
