/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_ENVIRONMENT_H
#define JP_ENVIRONMENT_H

#include <stdint.h>
#include <stdio.h>

/* env.json: the machine that a run happened on. Reads /proc and /sys; what cannot be read is null.
 */
void jp_environment_write(FILE *out, uint64_t seed);

#endif
