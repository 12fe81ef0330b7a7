// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "harness/perf_map.h"
#include "harness/selftest/fuzz.h"

static const char *const maps[] = {"harness/selftest/corpus/names.map", NULL};

void fuzz_one(const char *path, const unsigned char *bytes, size_t size)
{
	static const uint64_t addrs[] = {0,       0x10000, 0x10030,   0x10050,
					 0x10300, 0x20001, UINT64_MAX};
	struct jp_error err;
	struct jp_perf_map *map = jp_perf_map_load(path, -1, &err);
	volatile size_t length = 0; /* or nothing would be read */

	if (!map)
		return;
	for (size_t i = 0; i < sizeof(addrs) / sizeof(*addrs); i++) {
		const char *name = jp_perf_map_find(map, addrs[i]);

		length += name ? strlen(name) : 0;
	}
	jp_perf_map_free(map);
}

const struct fuzz_target fuzz_target = {
	.seeds = maps,
	.rounds = 10000,
	.truncations = 500,
};
