/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/option.h"
#include "harness/command/limit.h"
#include "harness/model/unwind/unwind.h"

/* Arguments of `jitproof judge FILE`, which judges a perf.data without a truth. */
struct jp_judge_request {
	bool json, unwind, frame_pointers, partial;
	enum jp_method method; /* unwinding method */
	const char *elf, *root, *file;
	const char *stacks;    /* path of the file to which unwound stacks are written, or NULL */
	struct jp_limit limit; /* --fail-if */
	unsigned int modes;    /* output modes (bits) */
};

/* Returns the options for the struct jp_judge_request @request, without FILE and --json. */
const struct jp_option *jp_judge_file_rows(void *request);
/* Judges the file of @request. @confined: this process is confined (harness/base/confine.h).
 * Returns the exit status: 0 if the whole file was read, 1 if the limit of --fail-if is exceeded,
 * 99 on errors. */
int jp_judge_file(const struct jp_judge_request *request, bool confined);
