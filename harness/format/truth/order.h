/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/truth/reader.h"

/* Private to harness/format/truth/: what the records of a file say of each other. Both want the
 * believed records in the file's order, and truths from JP_TRUTH_VERSION_MAPS on. 0 or -ENOMEM. */

/* Counts in @reader->disorder the records that no thread writes behind those before it. */
int jp_truth_count_disorder(struct jp_truth_reader *reader);
/* Counts in @reader->unpaired the beginnings and ends of threads and processes that lack what goes
 * with them. */
int jp_truth_count_unpaired(struct jp_truth_reader *reader);
