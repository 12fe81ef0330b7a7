/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/format/event.h"
#include "harness/model/unwind/unwind.h"

/* Writes @sample and its stack as one line of JSON (docs/unwinding.md). The caller checks @out for
 * errors. */
void jp_stack_line(FILE *out, const struct jp_event *sample, const struct jp_unwound *stack);
