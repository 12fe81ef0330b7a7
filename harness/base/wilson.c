// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/wilson.h"

#include <math.h>

/* The 97.5 % quantile of the standard normal distribution. */
#define Z 1.959963984540054

void jp_wilson(uint64_t k, uint64_t n, double *lo, double *hi)
{
	double p, centre, half, total = (double)n;

	*lo = 0;
	*hi = 1;
	if (!n)
		return;
	p = (double)k / total;
	centre = p + Z * Z / (2 * total);
	half = Z * sqrt(p * (1 - p) / total + Z * Z / (4 * total * total));
	/* If @k is 0 or @n, keep the exact limit 0 or 1, from which rounding could deviate. */
	if (k)
		*lo = fmax(0, (centre - half) / (1 + Z * Z / total));
	if (k < n)
		*hi = fmin(1, (centre + half) / (1 + Z * Z / total));
}
