// SPDX-License-Identifier: GPL-2.0-only
/* Fuzzes `jitproof explain` on a perf.data. */
#include "harness/explain/explain.h"
#include "harness/selftest/fuzz/fuzz.h"

void fuzz_one(const char *path, const unsigned char *bytes, size_t size)
{
	const struct jp_explain_options options = {.elf = "validators/fixtures/anon/elf"};
	struct jp_explanation explanation = {0};
	struct jp_error err;

	jp_explain(path, &options, &explanation, &err);
	jp_explanation_free(&explanation);
}

const struct fuzz_target fuzz_target = {
	.seeds = (const char *const[]){"validators/fixtures/anon/perf.data",
				       "validators/fixtures/growth/injected.data",
				       "harness/selftest/fuzz/corpus/odd.data",
				       "harness/selftest/fuzz/corpus/deferred.data", NULL},
	.rounds = 1000,
	.truncations = 100,
};
