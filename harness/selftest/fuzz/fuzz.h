/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * A fuzz target is a program. Without arguments it feeds fuzz_one() the files of
 * harness/selftest/fuzz/corpus/TARGET, which once crashed a parser, and then changed copies of its
 * seeds, which are the same in each run, and prints TAP. With arguments it feeds those files
 * unchanged. It stores an input that crashes it and prints the path. FUZZ_SECONDS=N makes it run N
 * seconds, with other changes in each run.
 */
struct fuzz_target {
	const char *const *seeds;      /* paths below the source tree, NULL at the end */
	const char *const *more_seeds; /* additional seeds for libFuzzer; NULL: none */
	unsigned int rounds;           /* number of randomly changed inputs */
	unsigned int truncations;      /* number of truncated inputs for each seed, approximately */
	/* Corrects checksums and sizes of a changed input, so that the fuzzer reaches the code
	 * after these checks; may be NULL. */
	void (*mend)(unsigned char *bytes, size_t size);
};
extern const struct fuzz_target fuzz_target;
/* Runs the code under test on @bytes, which the file @path contains too. */
void fuzz_one(const char *path, const unsigned char *bytes, size_t size);
/* Returns the folder of this run, removed at the end. */
const char *fuzz_folder(void);
/* Corrects the seals of truth records, so that the fuzzer reaches the code after these checks. */
void fuzz_seal(unsigned char *bytes, size_t size);
