/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "harness/base/error.h"

/*
 * The file `watched`: what the runner itself observed of a capture, and what it requested, as lines
 * "key number". The capture, which may be any profiler's, records its own times in the file
 * `capture`: they must agree with these. Times in ns by CLOCK_MONOTONIC. Exists since version 3 of
 * the truth.
 */
struct jp_watched_info {
	uint64_t started; /* before anything was opened */
	uint64_t begun;   /* the capture reported that it samples */
	uint64_t ending;  /* before the capture was asked to stop */
	uint64_t ended;   /* time when the capture's files were complete */
	uint64_t slack, max_stack;
	uint64_t chain;      /* callchains with the user's part were requested */
	uint64_t stack_dump; /* bytes */
	uint64_t user_only;  /* only user space is sampled */
	/* Older runs lack all of these fields, or the last three, two or one. */
	uint64_t cpus;       /* all CPU numbers are below; 0: unknown */
	uint64_t task_clock; /* task-clock samples instead of cpu-clock */
	uint64_t synth;      /* index of the synthesizing policy */
	uint64_t silent;  /* time when the capture reported that its events were off; 0: unknown */
	uint64_t witness; /* number of samples in the file `witness`; 0: the kernel refused */
	uint64_t witness_since; /* the witness's events were on by then */
};

/* Returns the period in ns of the witness's clock for a clock of @period ns: a little more than
 * half of it. So four samples of the witness in a row enclose more than one period of the other
 * clock, and the phases of both clocks drift. */
static inline uint64_t jp_witness_period(uint64_t period)
{
	return period / 2 + period / 200 + 1;
}

/* Writes @dir/watched and replaces an existing file. Returns 0, or -errno and a message. */
int jp_watched_write(const struct jp_watched_info *watched, const char *dir, struct jp_error *err);
/* Parses @text, which is changed; messages use @name. All keys must exist, except those that older
 * runs do not have. Returns 0, or -EINVAL and a message. */
int jp_watched_parse(struct jp_watched_info *watched, const char *name, char *text,
		     struct jp_error *err);
