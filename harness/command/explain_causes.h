/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

/* explain --causes: to standard output, all causes and the words that validators have for them. */
void jp_explain_causes(bool json);
