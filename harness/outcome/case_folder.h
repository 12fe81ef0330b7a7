/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/outcome/outcome.h"

/* The folder of one case in a run directory, as whoever comes later finds it. */

/* A folder that holds a file `case` is one. */
bool jp_case_folder_is(const char *dir);
/* The case that @dir was run as, as its own definition says: a set of exactly one. */
struct jp_cases *jp_case_folder_definition(const char *dir, struct jp_error *err);
/* What the run itself found out when there was nothing to judge, else what jp_judge_case() finds;
 * and how long it took. */
void jp_case_folder_judge(const struct jp_case *cas, const char *dir, struct jp_result *result);
