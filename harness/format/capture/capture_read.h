/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/format/event.h"
#include "harness/format/observations/declared.h"
#include "harness/format/perfdata/summary.h"

/* Reads the output of a profiler: perf.data ("-" is standard input) or a stream of observations.
 * Calls jp_perfdata_read() or jp_observations_read(), which declare the arguments and errors. */
int jp_capture_read(const char *path, jp_event_visit visit, void *context,
		    struct jp_perfdata_summary *summary, struct jp_error *err);
/* Handles the result @ret of reading a capture. If the capture is only cut short and @partial
 * accepts that, returns 0. Otherwise returns @ret, and for a capture cut short adds to @err how to
 * judge it anyway. */
int jp_capture_accept_partial(int ret, const struct jp_perfdata_summary *summary, bool partial,
			      struct jp_error *err);
/* Reads what the header of @path declares. Returns 0, or -errno and a message. */
int jp_capture_read_declared(const char *path, struct jp_declared *declared, struct jp_error *err);
/* Checks that @path can be the capture of a case: a regular file, or a folder as perf record
 * --threads writes it; no symbolic link, and nothing that blocks a reader. Returns 0, or -errno and
 * a message. */
int jp_capture_check(const char *path, struct jp_error *err);
/* Stores the path of the capture in the case folder @dir in @path: `observations` if it exists,
 * else `perf.data`, which may be missing. Returns 0, or -ENAMETOOLONG and a message. */
int jp_capture_path(const char *dir, char *path, size_t size, struct jp_error *err);
