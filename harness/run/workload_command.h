/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_WORKLOAD_COMMAND_H
#define JP_WORKLOAD_COMMAND_H

#include "harness/case/case.h"
#include "harness/run/runner.h"
#include "harness/run/workload_process.h"

/* The command line of @cas's workload, which writes into @dir and talks to @process; NULL: no
 * memory. */
char **jp_workload_command(const struct jp_runner *runner, const struct jp_case *cas,
			   const char *dir, const struct jp_workload_process *process);
void jp_workload_command_free(char **command);

#endif
