/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * A fuzz target is a program: without arguments it feeds changed copies of its seeds, always the
 * same ones, to fuzz_one() and prints TAP; with arguments it feeds those files as they are. An
 * input that kills it is kept, and named. Before all else come the files of
 * harness/selftest/fuzz/corpus/TARGET: inputs that killed a parser once. FUZZ_SECONDS=N goes
 * on for so long, with other changes each time.
 */
struct fuzz_target {
	const char *const *seeds; /* paths below the source tree, NULL at the end */
	const char *const *more;  /* the same, for the search by coverage alone; NULL: none */
	unsigned int rounds;      /* random changes; truncations come first, beside them */
	unsigned int truncations; /* of each seed, about */
	/* After a change: makes checksums and sizes right, so that more than their check is tried.
	 * NULL: nothing. */
	void (*mend)(unsigned char *bytes, size_t size);
};
extern const struct fuzz_target fuzz_target;
/* Must come back, whatever the bytes. @path: a file that holds them. */
void fuzz_one(const char *path, const unsigned char *bytes, size_t size);
/* A folder of this run, removed at the end. */
const char *fuzz_folder(void);
/* Or every changed record of a truth would be torn, and nothing behind the seal tried. */
void fuzz_seal(unsigned char *bytes, size_t size);
