/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/case/case.h"

/* Writes everything that a case line can contain, and @cases, to @out as one JSON object
 * (docs/hunt.md). */
void jp_list_json(const struct jp_cases *cases, FILE *out);
