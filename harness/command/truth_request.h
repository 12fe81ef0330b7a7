/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/option.h"
#include "harness/run/gather.h"

/* --truth TRUTH ... FILE, of the commands that hold any profiler's file against a truth. */
struct jp_truth_request {
	const char *command;
	const char *keep; /* -o: the folder to make and leave; NULL: a temporary one */
	bool keeps;       /* the command takes -o */
	bool json;
	unsigned modes; /* of its rows */
	struct jp_gathering gathering;
};

/* The rows of a command line for the struct jp_truth_request @request. */
const struct jp_option *jp_truth_rows(void *request);
/* Judges the folder @dir: the exit status, and @err where there is something to say. */
typedef int jp_truth_judge(struct jp_truth_request *request, const char *dir, struct jp_error *err);
/* Gathers, confines itself, and judges. The exit status. */
int jp_truth_request_judge(struct jp_truth_request *request, jp_truth_judge *judge);
