/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_SEED_H
#define JP_SEED_H

#include <stdint.h>

/* A random one, short enough to type again. */
uint64_t jp_seed(void);

#endif
