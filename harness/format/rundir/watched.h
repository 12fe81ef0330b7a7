/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "harness/base/error.h"

/*
 * The file `watched`: what the runner itself saw of a capture, and what it asked of it, as lines
 * "key number". The capture, which may be anyone's, states its own times in the file `capture`:
 * here is what they must agree with. Times in ns by CLOCK_MONOTONIC. Since version 3 of the truth.
 */
struct jp_watched_info {
	uint64_t started; /* nothing was opened yet */
	uint64_t begun;   /* the capture said that it samples */
	uint64_t ending;  /* it was not told to stop yet */
	uint64_t ended;   /* its files are complete */
	uint64_t slack, max_stack;
	uint64_t chain;      /* callchains were asked for, with the user's part */
	uint64_t stack_dump; /* bytes */
	uint64_t user_only;  /* nothing that runs in the kernel */
	/* Older runs have none of these, or none of the last three, two or one. */
	uint64_t cpus;          /* all numbers of CPUs are below; 0: not told */
	uint64_t task_clock;    /* the clock that samples, instead of cpu-clock */
	uint64_t synth;         /* index of the policy of synthesizing */
	uint64_t silent;        /* the capture said that its events are off; 0: not told */
	uint64_t witness;       /* samples in the file of that name; 0: the kernel denied it */
	uint64_t witness_since; /* its events were on by then */
};

/*
 * The period of the witness's clock beside a clock of @period ns: a little more than half of it. So
 * four samples of the witness in a row enclose more than one period of the other clock, and the
 * phases of the two clocks drift past each other.
 */
static inline uint64_t jp_witness_period(uint64_t period)
{
	return period / 2 + period / 200 + 1;
}

/* Writes @dir/watched, in the place of any that is there. */
int jp_watched_write(const struct jp_watched_info *watched, const char *dir, struct jp_error *err);
/* From @text, which is changed. @name stands in messages. Every key must be there, but for
 * those that older runs do not have. */
int jp_watched_parse(struct jp_watched_info *watched, const char *name, char *text,
		     struct jp_error *err);
