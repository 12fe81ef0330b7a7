// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "workloads/program.h"
#include "workloads/workload.h"

/* Code in private anonymous memory: what most JITs do, and .NET with W^X off. */
static int run(int argc, char **argv)
{
	struct jp_plan plan = jp_plan_defaults();

	plan.protect = JP_PROTECT_RWX;
	for (int i = 1; i < argc; i++) {
		int taken = jp_plan_option(&plan, argv[i]);

		if (taken < 0)
			return 2;
		if (taken)
			continue;
		if (!strcmp(argv[i], "--protect=rwx")) {
			plan.protect = JP_PROTECT_RWX;
		} else if (!strcmp(argv[i], "--protect=flip")) {
			plan.protect = JP_PROTECT_FLIP;
		} else {
			fprintf(stderr, "jitproof workload %s: unknown option '%s' (see --help)\n",
				argv[0], argv[i]);
			return 2;
		}
	}
	plan.instead = plan.protect;
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
