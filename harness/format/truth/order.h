/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/truth/reader.h"

/* Private to harness/format/truth/: consistency of the records with each other. Both functions
 * need the valid records in file order, and a truth from JP_TRUTH_VERSION_MAPS on. Return 0 or
 * -ENOMEM. */

/* Counts in @reader->disorder the records that are out of order within their thread, and in
 * @reader->overspent the activations with more CPU time than elapsed time. */
int jp_truth_count_disorder(struct jp_truth_reader *reader);
/* Counts in @reader->unpaired the starts and exits of threads and processes that lack their
 * counterpart. */
int jp_truth_count_unpaired(struct jp_truth_reader *reader);
