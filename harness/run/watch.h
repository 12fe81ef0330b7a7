/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/capture/capture.h"
#include "harness/case/case.h"
#include "harness/format/rundir/watched.h"
#include "harness/run/workload_process.h"

/* One case that runs. */
struct jp_watched {
	const char *self; /* this binary: it is its own workloads */
	uint64_t seed;
	const struct jp_case *cas;
	const char *dir;
	const struct jp_capture *capture;
	struct jp_capture_options options;
	char **capture_argv; /* the capture's own: without what the options took */
	int capture_argc;
	struct jp_workload_process process;
	struct jp_witness *witness; /* NULL: not yet, or no more */
	uint64_t deadline;
	bool stepped;
	struct jp_watched_info seen;
};

/* From the case's words to a policy and its options. */
int jp_watch_options(struct jp_watched *watch, struct jp_error *err);
/* From nothing to a closed capture of a workload that ended well. -EOPNOTSUPP: the workload, or the
 * capture of what it was asked for, cannot be had here; -ETIMEDOUT; -EINTR. */
int jp_watch(struct jp_watched *watch, struct jp_error *err);
/* Whatever came out of it. */
void jp_watch_free(struct jp_watched *watch);
