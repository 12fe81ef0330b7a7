/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/outcome/case_folders.h"
#include "harness/score/score.h"

/* Judges the kept @folders of an earlier score or run again and fills @score. The profiler's CPU
 * time stays unknown. Returns 0, or -errno and a message. */
int jp_score_judge_folders(const struct jp_case_folders *folders, struct jp_score *score,
			   struct jp_error *err);
