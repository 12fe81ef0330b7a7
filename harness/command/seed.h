/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* A random one, short enough to type again. */
uint64_t jp_seed(void);
