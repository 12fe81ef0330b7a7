/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/option.h"
#include "harness/run/gather.h"

/* Arguments --truth TRUTH ... FILE of the commands that compare any profiler's file with a
 * truth. */
struct jp_truth_request {
	const char *command;
	const char *keep; /* -o: the folder to create and keep; NULL: a temporary one */
	bool keeps;       /* the command takes -o */
	bool json;
	unsigned modes; /* output modes */
	struct jp_gathering gathering;
};

/* Returns the options for the struct jp_truth_request @request. */
const struct jp_option *jp_truth_rows(void *request);
/* Judges the folder @dir. Returns the exit status, with a message in @err on errors. */
typedef int jp_truth_judge(struct jp_truth_request *request, const char *dir, struct jp_error *err);
/* Gathers the files into a case's folder, drops privileges, and calls @judge. Returns the exit
 * status. */
int jp_truth_request_judge(struct jp_truth_request *request, jp_truth_judge *judge);
