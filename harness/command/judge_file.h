/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/option.h"
#include "harness/command/limit.h"
#include "harness/model/unwind/unwind.h"

/* `jitproof judge FILE`, a perf.data without truth. */
struct jp_judge_request {
	bool json, unwind, frame_pointers, partial;
	enum jp_method method; /* to unwind by */
	const char *elf, *root, *file;
	const char *stacks;    /* a file for them, or NULL */
	struct jp_limit limit; /* of --fail-if */
	unsigned int modes;    /* of its rows */
};

/* The rows of a command line for the struct jp_judge_request @request, without FILE and --json. */
const struct jp_option *jp_judge_file_rows(void *request);
/* The exit status: 0 the whole file was read, 99 it was not, 1 only where --fail-if holds.
 * @confined: it is read in a process without rights (harness/base/confine.h); else in this one. */
int jp_judge_file(const struct jp_judge_request *request, bool confined);
