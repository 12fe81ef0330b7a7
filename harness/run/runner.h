/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/arguments.h"
#include "harness/outcome/outcome.h"
#include "harness/format/rundir/run_dir.h"

struct jp_runner {
	const char *program; /* NAME of the jitproof-NAME that runs the workloads of cases without
				the key; NULL: this binary */
	char self[4096];     /* path of this binary */
	char *environment;   /* text of env.json */
	uint64_t seed;
	const char *readers; /* as for jp_readers_ask() */
};

/* Watches for interrupts, finds the binary, and describes the machine and the adapters in
 * @profilers (NULL-terminated; NULL: all). Returns 0, or -errno and a message. */
int jp_runner_open(struct jp_runner *runner, uint64_t seed, const char *const *profilers,
		   struct jp_error *err);
void jp_runner_close(struct jp_runner *runner);
/* Adds to @names the profilers that @cas runs and the tools on which its expectations depend. */
void jp_runner_list_profilers(const struct jp_case *cas, struct jp_arguments *names);

/* Runs one case in its new folder @dir. Returns true if the folder must be judged. Otherwise stores
 * the outcome (SKIP, ERROR, TIMEOUT) and the reason in @result, and for `jitproof judge` in
 * @dir/outcome. Writes the duration to @dir/seconds. Leaves no child process. */
bool jp_runner_run(const struct jp_runner *runner, const struct jp_case *cas, const char *dir,
		   struct jp_result *result);
