// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/truth_request.h"

#include <string.h>

#include "harness/base/interrupt.h"
#include "harness/command/command_line.h"
#include "harness/command/reading.h"
#include "harness/command/cleanup_parent.h"
#include "harness/format/rundir/run_dir.h"

const struct jp_option *jp_truth_rows(void *context)
{
	struct jp_truth_request *request = context;
	struct jp_gathering *ask = &request->gathering;
	static struct jp_option rows[5];
	const struct jp_option all_rows[] = {
		{"--truth", .value = "TRUTH", .text = &ask->truth, .is_required = true,
		 .modes = request->modes,
		 .help = "compare FILE, recorded with CLOCK_MONOTONIC, with TRUTH, which a "
			 "workload wrote"},
		{"--injected", .value = "INJECTED", .text = &ask->injected, .modes = request->modes,
		 .help = "take names from INJECTED, which inject made from FILE"},
		{"--slack", .value = "NS", .number64 = &ask->slack, .max = UINT64_MAX - 1,
		 .modes = request->modes,
		 .help = "the clocks of FILE and TRUTH differ by at most NS (default: as measured "
			 "on this machine)"},
		{"-o", .value = "DIR", .text = &request->kept_folder, .modes = request->modes,
		 .help = "keep FILE and TRUTH in the new run directory DIR"},
		{0}};

	memcpy(rows, all_rows, sizeof(all_rows));
	if (!request->keeps)
		rows[3] = (struct jp_option){0};
	return rows;
}

int jp_truth_request_judge(struct jp_truth_request *request, jp_truth_judge *judge)
{
	struct jp_gathering *ask = &request->gathering;
	const char *input = ask->injected ?: ask->capture;
	struct jp_run_dir run;
	int status;
	struct jp_error err = {""};
	char dir[4096];

	if (jp_fork_and_clean_up(request->command, &status))
		return status;
	if (jp_make_removable_folder(&run, request->kept_folder, &err))
		return jp_command_fail(request->command, &err);
	if (!jp_run_dir_case(&run, "truth/gathered", dir, sizeof(dir), &err) &&
	    !jp_gather(ask, dir, &err) &&
	    !jp_reading_begin(request->command, input, dir, NULL, &status))
		status = judge(request, dir, &err);
	if (*err.text)
		status = jp_command_fail(request->command, &err);
	if (!request->kept_folder)
		jp_run_dir_remove(run.path);
	jp_interrupt_die();
	return jp_reading_end(request->command, status);
}
