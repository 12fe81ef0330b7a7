// SPDX-License-Identifier: GPL-2.0-only
/* Fuzzes the parser of case files, of a study and of a run directory. */
#include "harness/case/case.h"
#include "harness/selftest/fuzz/fuzz.h"

void fuzz_one(const char *path, const unsigned char *bytes, size_t size)
{
	char *text = malloc(size);
	struct jp_cases *cases;
	struct jp_error err = {""};

	memcpy(text, bytes, size);
	cases = jp_cases_parse(NULL, "file", size % 2 ? "study" : NULL, text, size, &err);
	if (!cases && strncmp(err.text, "file:", 5))
		abort();
	if (cases) {
		jp_cases_check(cases, &err);
		jp_cases_free(cases);
	}
	free(text);
}

const struct fuzz_target fuzz_target = {
	.seeds = (const char *const[]){"results/expected/preexisting", "results/expected/exact",
				       "results/expected/attach",
				       "validators/fixtures/pathless/case", NULL},
	.rounds = 10000,
	.truncations = 1000,
};
