// SPDX-License-Identifier: GPL-2.0-only
/* The whole way of `jitproof judge FILE`: reading, ordering, replay, unwinding, printing. */
#include "harness/judge_file.h"
#include "harness/selftest/fuzz.h"

static const char *const captures[] = {
	"validators/fixtures/anon/perf.data",      "validators/fixtures/memfd/perf.data",
	"harness/selftest/corpus/compressed.data", "harness/selftest/corpus/pipe.data",
	"harness/selftest/corpus/two_events.data", NULL,
};

void fuzz_one(const char *path, const unsigned char *bytes, size_t size)
{
	char *json[] = {"judge",      "--json", "--unwind", "--elf", "validators/fixtures/anon/elf",
			(char *)path, NULL};
	char *text[] = {"judge", (char *)path, NULL};

	if (size % 16)
		jp_judge_file(sizeof(json) / sizeof(*json) - 1, json);
	else
		jp_judge_file(sizeof(text) / sizeof(*text) - 1, text);
}

const struct fuzz_target fuzz_target = {
	.seeds = captures,
	.rounds = 2500,
	.truncations = 150,
};
