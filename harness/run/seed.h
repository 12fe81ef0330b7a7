/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_SEED_H
#define JP_SEED_H

#include <stdbool.h>
#include <stdint.h>

/* A random one, short enough to type again. */
uint64_t jp_seed_random(void);
/* As it was typed; false: it is no number. */
bool jp_seed_parse(const char *text, uint64_t *seed);

#endif
