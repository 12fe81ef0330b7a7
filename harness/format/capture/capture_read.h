/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/format/event.h"
#include "harness/format/observations/declared.h"
#include "harness/format/perfdata/summary.h"

/*
 * What a profiler wrote, whatever its format: perf.data ("-" is standard input) or a stream of
 * observations. As jp_perfdata_read() and jp_observations_read(), one of which it calls.
 */
int jp_capture_read(const char *path, jp_event_visit visit, void *context,
		    struct jp_perfdata_summary *summary, struct jp_error *err);
/* What is to become of @ret, which a reader of a capture returned: 0 where it only is cut short and
 * a @partial one will do; else the same, and @err says how to have it judged all the same. */
int jp_capture_partial(int ret, const struct jp_perfdata_summary *summary, bool partial,
		       struct jp_error *err);
/* What @path declares before its first event. 0, or -errno and a message. */
int jp_capture_declared(const char *path, struct jp_declared *declared, struct jp_error *err);
/* Whether @path is what a case's capture may be: a regular file, or a folder as perf record
 * --threads writes one; no link, and nothing that makes a reader wait. 0, or -errno and a message.
 */
int jp_capture_check(const char *path, struct jp_error *err);
/* The capture in the folder of a case, into @path: `observations` where it is, else `perf.data`,
 * whether it is there or not. 0, or -ENAMETOOLONG and a message. */
int jp_capture_path(const char *dir, char *path, size_t size, struct jp_error *err);
