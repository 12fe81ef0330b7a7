/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/outcome/outcome.h"

/* Prints to standard output the story of a judged case in the folder @dir, in lines of at most
 * @width columns: its outcome, what the workload did, how it was watched, all figures and
 * exceptions, and its files. */
void jp_story_print(const struct jp_result *result, const char *dir, unsigned int width);
