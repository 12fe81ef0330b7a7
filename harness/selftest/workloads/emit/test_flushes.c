// SPDX-License-Identifier: GPL-2.0-only
/* Tests that the emitter flushes the instruction cache where code will run, on machines that need
 * it. Emulation keeps caches coherent, so running the code would not show a missing flush. */
#include "harness/selftest/support/check.h"
#include "workloads/emit/emitter.h"

static uintptr_t from, to; /* range of the last flush */

/* Replaces libgcc's function, which __builtin___clear_cache() calls except on machines with
 * coherent caches. */
void __clear_cache(void *start, void *end);

void __clear_cache(void *start, void *end)
{
	from = (uintptr_t)start;
	to = (uintptr_t)end;
}

TEST(flushes)
{
	static const enum jp_protect protections[] = {JP_PROTECT_RWX, JP_PROTECT_FLIP,
						      JP_PROTECT_VIEWS};
	char no_code = 0;

	__builtin___clear_cache(&no_code, &no_code + 1);
	if (!from) {
		check(true, "flushes # SKIP the caches of this machine are coherent");
		return;
	}
	for (size_t i = 0; i < sizeof(protections) / sizeof(*protections); i++) {
		struct jp_function function = {.size = 0};
		struct jp_arena arena;
		int ret = jp_arena_map(&arena, protections[i], 1 << 16, "doublemapper")
				  ?: jp_emit_write(&arena, JP_SHAPE_LONG, &function);

		check(!ret && from == function.code && to == function.code + function.size,
		      "code of protection %d is flushed where it runs: %d", protections[i], ret);
	}
}
