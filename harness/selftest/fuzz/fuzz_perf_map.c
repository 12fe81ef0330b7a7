// SPDX-License-Identifier: GPL-2.0-only
#include "harness/selftest/fuzz/fuzz.h"
#include "harness/selftest/support/perf_map_of.h"

void fuzz_one(const char *path, const unsigned char *bytes, size_t size)
{
	struct jp_error err;
	struct jp_perf_map *map = read_perf_map(path, -1, &err);
	volatile size_t sum = 0;

	if (!map)
		return;
	for (uint64_t addr = 0x6fffffffc0; addr < 0x7000000400; addr += 8) {
		const char *name = jp_perf_map_find(map, addr);

		sum += name ? strlen(name) : 0;
		sum += jp_perf_map_covers(map, addr);
	}
	(void)sum;
	jp_perf_map_find(map, 0);
	jp_perf_map_find(map, UINT64_MAX);
	jp_perf_map_free(map);
}

const struct fuzz_target fuzz_target = {
	.seeds = (const char *const[]){"harness/selftest/fuzz/corpus/perf.map",
				       "harness/selftest/fuzz/corpus/names.map", NULL},
	.rounds = 5000,
	.truncations = 300,
};
