/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/arguments.h"
#include "harness/outcome/outcome.h"
#include "harness/format/rundir/run_dir.h"

struct jp_runner {
	char self[4096];   /* this binary: it is its own workloads */
	char *environment; /* text of env.json */
	uint64_t seed;
};

/* Watches for interrupts, finds the binary, describes the machine, and of the adapters those in
 * @profilers (NULL-terminated; NULL: all). */
int jp_runner_open(struct jp_runner *runner, uint64_t seed, const char *const *profilers,
		   struct jp_error *err);
void jp_runner_close(struct jp_runner *runner);
/* Adds to @names the profilers that @cas runs and the tools that its expectations depend on. */
void jp_runner_profilers(const struct jp_case *cas, struct jp_arguments *names);

/*
 * Runs one case in its fresh folder @dir. True: that is to be judged. Else what went wrong on the
 * way is the result's outcome (SKIP, ERROR, TIMEOUT), and stands in @dir/outcome too, for `judge`.
 * How long it took stands in @dir/seconds. No process is left when it returns.
 */
bool jp_runner_run(const struct jp_runner *runner, const struct jp_case *cas, const char *dir,
		   struct jp_result *result);
