/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/command/truth_request.h"

/* Implements `jitproof explain --truth`: explains a capture without using its truth, and compares
 * each cause of bad samples with the findings of the validators, which use the truth. Returns the
 * exit status. */
int jp_explain_truth(struct jp_truth_request *request);
