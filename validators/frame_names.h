/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/text_pool.h"
#include "harness/judge/findings.h"
#include "harness/model/oracle/truth.h"

/*
 * Names of emitted functions as numbers, so that stacks of names compare as stacks of addresses do.
 * Native frames, and those in files, have any name: all of them are JP_FRAME_NATIVE.
 */
enum { JP_FRAME_MOST = 8192 }; /* frames of one stack */
enum { JP_FRAME_NATIVE, JP_FRAME_UNNAMED, JP_FRAME_FIRST };

struct jp_frame_names {
	const struct jp_truth *truth;
	struct jp_text_pool texts; /* value: set where it is an emitted function's */
};

/* @names all zero. 0 or -ENOMEM. */
int jp_frame_names_init(struct jp_frame_names *names, const struct jp_truth *truth);
/* The number of @name; NULL: the profiler has none for it, whatever it is. */
uint64_t jp_frame_number(struct jp_frame_names *names, const char *name);
/* Those of @count true addresses of @pid at @time, innermost first. */
void jp_frame_numbers(struct jp_frame_names *names, uint32_t pid, uint64_t time,
		      const uint64_t *frames, uint32_t count, uint64_t *numbers);
/*
 * The verdict of @seen, some of which may be unnamed: they may be whatever stands in their place.
 * Where that does not do, a caller is missing. @seen is as before when it returns.
 */
enum jp_verdict jp_frame_verdict(uint64_t *seen, uint32_t nr_seen, const uint64_t *must,
				 uint32_t nr_must, const uint64_t *whole, uint32_t nr_whole);
/* Whether all code has a name to be known by: what lies in a file may have none. */
bool jp_frame_all_named(const struct jp_truth *truth);
void jp_frame_names_free(struct jp_frame_names *names);
