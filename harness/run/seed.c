// SPDX-License-Identifier: GPL-2.0-only
#include "harness/run/seed.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

uint64_t jp_seed_random(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = (uint64_t)getpid();
	return seed & UINT32_MAX;
}

bool jp_seed_parse(const char *text, uint64_t *seed)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*seed = strtoull(text, &end, 0);
	return !errno && !*end;
}
