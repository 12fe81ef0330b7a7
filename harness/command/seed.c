// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/seed.h"

#include <sys/random.h>
#include <unistd.h>

uint64_t jp_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = (uint64_t)getpid();
	return seed & UINT32_MAX;
}
