/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/arguments.h"
#include "harness/outcome/outcome.h"

/* Returns whether @dir is the folder of a case: it has a file `case`. */
bool jp_is_case_folder(const char *dir);
/* Reads the case's own definition from @dir. Returns a set of exactly one case, or NULL and a
 * message. */
struct jp_cases *jp_case_folder_definition(const char *dir, struct jp_error *err);
/* Stores in @result the outcome and duration of the case in @dir: the outcome that the run recorded
 * if it left nothing to judge, else that of jp_judge_case(). */
void jp_case_folder_judge(const struct jp_case *cas, const char *dir, struct jp_result *result);
/* Adds to @folders @dir itself, if it is a case folder, else the case folders up to two levels
 * below it, in the order of names. Returns 0, or -errno if @dir cannot be read. */
int jp_case_folders_find(struct jp_arguments *folders, const char *dir);
