/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/capture/capture.h"
#include "harness/case/case.h"
#include "harness/format/rundir/watched.h"
#include "harness/run/workload_process.h"

/* A running case: its workload, capture and witness. */
struct jp_watched {
	const char *program; /* path of the program that runs the workload */
	uint64_t seed;
	const struct jp_case *cas;
	const char *dir;
	const struct jp_capture *capture;
	struct jp_capture_options options;
	char **capture_argv; /* arguments of the capture itself, without common options */
	int capture_argc;
	struct jp_workload_process process;
	struct jp_witness *witness; /* NULL: not open */
	uint64_t deadline; /* deadline: first for "ready", then the case's seconds after that */
	bool stepped;
	struct jp_watched_info info;
};

/* Reads the capture and its options from the case. Returns 0, or -errno and a message. */
int jp_watch_options(struct jp_watched *watch, struct jp_error *err);
/* Runs the workload under the capture and closes both. Returns 0; -EOPNOTSUPP if the workload or
 * the capture is not possible here; -ETIMEDOUT; -EINTR; or another -errno and a message. */
int jp_watch(struct jp_watched *watch, struct jp_error *err);
/* Frees @watch, whatever state it is in. */
void jp_watch_free(struct jp_watched *watch);
