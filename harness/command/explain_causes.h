/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_EXPLAIN_CAUSES_H
#define JP_EXPLAIN_CAUSES_H

#include <stdbool.h>

/* explain --causes: to standard output, all causes and the words that validators have for them. */
void jp_explain_causes(bool json);

#endif
