// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/option.h"
#include "workloads/emit/program.h"
#include "workloads/emit/workload.h"

/* Code in private anonymous memory: what most JITs do, and .NET with W^X off. */
static int run(int argc, char **argv)
{
	struct jp_plan plan = jp_plan_defaults();
	static const char *const protects[] = {"rwx", "flip", NULL};
	unsigned protect = 0;
	const struct jp_option options[] = {{.take = jp_plan_option, .context = &plan},
					    {"--protect=", .number = &protect, .words = protects},
					    {0}};

	if (jp_options(argc, argv, options))
		return 2;
	plan.instead = plan.protect = protect ? JP_PROTECT_FLIP : JP_PROTECT_RWX;
	return jp_plan_run(argv[0], &plan);
}

static const struct jp_workload anon_exec = {
	.name = "anon_exec",
	.help = "code in private anonymous memory, RWX or RW then RX",
	.options = "  --protect=rwx|flip  writable and executable at once, or written and then\n"
		   "                   made executable by mprotect (rwx)\n",
	.shared_options = jp_plan_options,
	.run = run,
};
JP_REGISTER(workload, anon_exec);
