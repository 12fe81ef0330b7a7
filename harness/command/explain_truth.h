/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/command/truth_request.h"

/* explain --truth: explains a capture and compares each cause with the validators' findings.
 * Returns the exit status. */
int jp_explain_truth(struct jp_truth_request *request);
