/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/command/truth_request.h"

/* Explains a capture and compares each cause with the validators' findings (`jitproof explain
 * --truth`). Returns the exit status. */
int jp_explain_truth(struct jp_truth_request *request);
