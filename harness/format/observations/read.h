/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/format/event.h"
#include "harness/format/observations/declared.h"
#include "harness/format/perfdata/summary.h"

/* How a stream of observations begins. */
#define JP_OBSERVATIONS_MAGIC "jitproof-observations "

/*
 * Reads a stream of observations (docs/observations.md), a regular file: events come in the order
 * of time, those of one time in that of the file. Memory grows with the number of lines. A line
 * that is none ends it with -EINVAL: the message names file, line and what was expected. @visit
 * NULL: its header alone.
 */
int jp_observations_read(const char *path, jp_event_visit visit, void *context,
			 struct jp_declared *declared, struct jp_perfdata_summary *summary,
			 struct jp_error *err);
