/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "harness/base/error.h"

/* Measures how far the events' clock leaves the brackets of clock_gettime(), in ns, over all @cpus.
 * Returns 0, or -errno and a message. */
int jp_clock_slack(const int *cpus, unsigned int nr_cpus, uint64_t *slack, struct jp_error *err);
