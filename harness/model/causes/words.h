/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_CAUSE_WORDS_H
#define JP_CAUSE_WORDS_H

#include <stdbool.h>

#include "harness/model/causes/causes.h"

/* The cause that a validator's exception of @metric means by @word; NULL: none that a capture alone
 * can tell, or the exception costs no sample its stack or its name. @mapped: a perf map is there.
 */
const struct jp_cause *jp_cause_of_word(const char *metric, const char *word, bool mapped);
/* Whether validators can find @cause at all: the truth knows what a workload's own code does. */
bool jp_cause_is_judged(const struct jp_cause *cause);

#endif
