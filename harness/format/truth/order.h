/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/truth/reader.h"

/* Checks, for harness/format/truth/, that the records are consistent with each other: valid ones in
 * file order of a truth from JP_TRUTH_VERSION_MAPS on. Counts in @reader->disorder those out of
 * order within their thread, in @reader->overspent the activations with more CPU time than elapsed
 * time, and in @reader->unpaired the starts and exits of threads and processes that lack their
 * counterpart. Returns 0 or -ENOMEM. */
int jp_truth_check_order(struct jp_truth_reader *reader);
