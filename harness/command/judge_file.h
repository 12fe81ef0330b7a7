/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/option.h"
#include "harness/command/limit.h"
#include "harness/model/unwind/unwind.h"

/* `jitproof judge FILE`: judges a perf.data without truth. */
struct jp_judge_request {
	bool json, unwind, frame_pointers, partial;
	enum jp_method method; /* unwinding method */
	const char *elf, *root, *file;
	const char *stacks;    /* file for the stacks, or NULL */
	struct jp_limit limit; /* of --fail-if */
	unsigned int modes;    /* output modes */
};

/* Returns the options for the struct jp_judge_request @request, without FILE and --json. */
const struct jp_option *jp_judge_file_rows(void *request);
/* Judges a file. Returns the exit status: 0 if the whole file was read, 99 if not, 1 only if
 * --fail-if holds. @confined: reads it in a process without privileges (harness/base/confine.h). */
int jp_judge_file(const struct jp_judge_request *request, bool confined);
