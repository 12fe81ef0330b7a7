/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/format/event.h"
#include "harness/format/observations/declared.h"
#include "harness/format/perfdata/summary.h"

/* The first bytes of a stream of observations. The version number follows. */
#define JP_OBSERVATIONS_MAGIC "jitproof-observations "

/* Reads a stream of observations (docs/observations.md), a regular file, and calls @visit with each
 * event, ordered by time, then by position in the file. If @visit is NULL, reads only the header
 * into @declared. Memory grows with the number of lines. Returns 0, another value of @visit, or
 * -errno and a message: for a malformed line -EINVAL, with file, line and what was expected. */
int jp_observations_read(const char *path, jp_event_visit visit, void *context,
			 struct jp_declared *declared, struct jp_perfdata_summary *summary,
			 struct jp_error *err);
