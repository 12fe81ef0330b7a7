/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/option.h"
#include "harness/trace/trace.h"

/* Helpers of the commands that trace a program by ptrace(). */

/* Returns the default options of a trace. */
struct jp_trace_options jp_trace_defaults(void);
/* Returns the rows for the struct jp_trace_options @options. */
const struct jp_option *jp_trace_rows(void *options);
/* Calls @act(@context) in a separate process, which watches signals, and detaches from the traced
 * program when the process of @command is killed: a program may die of SIGTRAP if its tracer is
 * killed while it is single-stepped. Returns the exit status. */
int jp_trace_guarded(const char *command, int (*act)(void *context), void *context);
