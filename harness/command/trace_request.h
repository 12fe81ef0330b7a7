/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/option.h"
#include "harness/trace/trace.h"

/* What the commands that trace share. */

/* Returns the usual options. */
struct jp_trace_options jp_trace_defaults(void);
/* Returns the rows for the struct jp_trace_options @options. */
const struct jp_option *jp_trace_rows(void *options);
/* Calls @act in a process of its own, which watches signals and lets go of the traced program when
 * @command's process is killed: a program may die of SIGTRAP if its tracer is killed during a step.
 * Returns the exit status. */
int jp_trace_guarded(const char *command, int (*act)(void *context), void *context);
