/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "harness/base/error.h"

/*
 * The file `watched`: what the runner itself observed of a capture and requested from it, as lines
 * "key number". The capture program, which may be any profiler, writes its own times into the file
 * `capture`; both files must agree. Times in ns by CLOCK_MONOTONIC. Exists since version 3 of the
 * truth.
 */
struct jp_watched_info {
	uint64_t started;        /* time before the capture opened anything */
	uint64_t sampling_since; /* time when the capture reported that it samples */
	uint64_t ending;         /* time before the capture was asked to stop */
	uint64_t ended;          /* time when the capture's files were complete */
	uint64_t slack, max_stack;
	uint64_t chain;      /* 1 if callchains with a user part were requested */
	uint64_t stack_dump; /* requested bytes of a stack dump */
	uint64_t user_only;  /* 1 if only user space is sampled */
	/* Fields that older runs lack: all of them, or the last three, two or one. */
	uint64_t cpus;       /* every CPU number is below this; 0: unknown */
	uint64_t task_clock; /* 1 if task-clock samples instead of cpu-clock */
	uint64_t synth;      /* enum jp_synth: which mappings of older processes are synthesized */
	uint64_t silent;  /* time when the capture reported that its events were off; 0: unknown */
	uint64_t witness; /* number of samples in the file `witness`; 0: the kernel refused the
			     witness's events */
	uint64_t witness_since; /* time at which the witness's events had been enabled */
};

/* Returns the period in ns of the witness's clock (a second sampling clock on the same threads) if
 * the capture's clock has @period ns: a little more than half of @period. So four consecutive
 * samples of the witness enclose more than one period of the capture's clock, and the phases of
 * both clocks drift. */
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
