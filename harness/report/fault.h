/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/outcome/outcome.h"

/* Stores a sentence in @text that names what is wrong in a case that did not pass: the figure and
 * its cause, or the first line of the reason. Returns @text. */
const char *jp_fault_describe(const struct jp_result *result, char *text, size_t size);
