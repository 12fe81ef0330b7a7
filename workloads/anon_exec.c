// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/program.h"
#include "workloads/emit/workload.h"

/* Code in private anonymous memory, as in most JITs and in .NET without W^X. */
static struct jp_plan plan = JP_PLAN();
static const char *const protects[] = {"rwx", "flip", NULL};
static unsigned protect;

static int run(int argc, char **argv)
{
	plan.instead = plan.protect = protect ? JP_PROTECT_FLIP : JP_PROTECT_RWX;
	return jp_plan_run(argv[0], &plan);
}

static const struct jp_option options[] = {{"--protect", .number = &protect, .words = protects,
					    .help = "memory is writable and executable at once, or "
						    "written and then made executable by mprotect "
						    "(rwx)"},
					   {.get_more = jp_plan_options, .context = &plan},
					   {0}};

JP_DEFINE(workload, anon_exec) = {
	.name = "anon_exec",
	.help = "code in private anonymous memory, RWX or RW then RX",
	.options = options,
	.run = run,
};
