/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * A fuzz target is a program. Without arguments it feeds the files of
 * harness/selftest/fuzz/corpus/TARGET, which killed a parser once, and then the same changed copies
 * of its seeds each time to fuzz_one(), and prints TAP. With arguments it feeds those files
 * unchanged. It stores an input that kills it and prints the path. FUZZ_SECONDS=N makes it run N
 * seconds, with other changes each time.
 */
struct fuzz_target {
	const char *const *seeds; /* paths below the source tree, NULL at the end */
	const char *const *more;  /* further seeds for libFuzzer alone; NULL: none */
	unsigned int rounds;      /* number of randomly changed inputs */
	unsigned int truncations; /* approximate number per seed */
	/* Corrects checksums and sizes of a changed input, so that the fuzzer reaches the code
	 * behind their check; may be NULL. */
	void (*mend)(unsigned char *bytes, size_t size);
};
extern const struct fuzz_target fuzz_target;
/* Runs the code under test on @bytes, which the file @path contains too. */
void fuzz_one(const char *path, const unsigned char *bytes, size_t size);
/* Returns the folder of this run, removed at the end. */
const char *fuzz_folder(void);
/* Corrects the seals of truth records, so that the fuzzer reaches the code behind their check. */
void fuzz_seal(unsigned char *bytes, size_t size);
