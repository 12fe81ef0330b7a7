/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/command/truth_request.h"

/* judge --truth; argv[0] is "judge". The exit status. */
int jp_judge_truth(struct jp_truth_request *request);
