/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* Computes the 95 % Wilson score interval of k of n; n == 0 gives [0, 1]. */
void jp_wilson(uint64_t k, uint64_t n, double *lo, double *hi);
