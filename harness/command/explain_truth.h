/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/command/truth_request.h"

/* explain --truth: explains, and holds each cause against what validators find with the truth. The
 * exit status. */
int jp_explain_truth(struct jp_truth_request *request);
