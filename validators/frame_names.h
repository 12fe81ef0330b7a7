/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/text_pool.h"
#include "harness/judge/findings.h"
#include "harness/model/oracle/truth.h"

/* Gives each name of an emitted function a number, so that stacks of names can be compared like
 * stacks of addresses. Native frames and frames in files may have any name, so all of them get the
 * number JP_FRAME_NATIVE. */
enum { JP_FRAME_MOST = 8192 }; /* number of frames of one stack that are compared */
enum { JP_FRAME_NATIVE, JP_FRAME_UNNAMED, JP_FRAME_FIRST };

struct jp_frame_names {
	const struct jp_truth *truth;
	struct jp_text_pool texts; /* names; the value is not NULL for an emitted function's name */
};

/* Fills @names, which must be all zero. Returns 0 or -ENOMEM. */
int jp_frame_names_init(struct jp_frame_names *names, const struct jp_truth *truth);
/* Returns the number of @name; NULL: the profiler did not record a name. */
uint64_t jp_frame_get_name_number(struct jp_frame_names *names, const char *name);
/* Stores in @numbers the numbers of @count addresses of @pid at @time, innermost first. */
void jp_frame_get_name_numbers(struct jp_frame_names *names, uint32_t pid, uint64_t time,
			       const uint64_t *frames, uint32_t count, uint64_t *numbers);
/* Returns the verdict of @recorded_ips as jp_stack_verdict() does, for stacks of numbers. An
 * unnamed frame may be any function; if no function makes the stack right, the verdict is JP_HOLE.
 * @recorded_ips is the same again afterwards. */
enum jp_verdict jp_frame_verdict(uint64_t *recorded_ips, uint32_t nr_seen, const uint64_t *must,
				 uint32_t nr_must, const uint64_t *complete, uint32_t nr_whole);
/* Returns whether all emitted code in memory has a name. Code in a file may lack a name. */
bool jp_frame_has_all_code_named(const struct jp_truth *truth);
void jp_frame_names_free(struct jp_frame_names *names);
