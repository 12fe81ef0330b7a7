/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/option.h"
#include "harness/run/gather.h"

/* Arguments of the commands that compare a perf.data of any profiler with a truth: --truth TRUTH
 * ... FILE. */
struct jp_truth_request {
	const char *command;
	const char *kept_folder; /* -o: the folder to create and keep; NULL: a temporary one */
	bool keeps;              /* the command has the option -o, which keeps @kept_folder */
	bool json;
	unsigned modes; /* output modes */
	struct jp_gathering gathering;
};

/* Returns the options for the struct jp_truth_request @request. */
const struct jp_option *jp_truth_rows(void *request);
/* Judges the case folder @dir. Returns the exit status, and on errors a message in @err. */
typedef int jp_truth_judge(struct jp_truth_request *request, const char *dir, struct jp_error *err);
/* Copies the files into a new case folder (jp_gather()), drops privileges, and calls @judge.
 * Returns the exit status. */
int jp_truth_request_judge(struct jp_truth_request *request, jp_truth_judge *judge);
