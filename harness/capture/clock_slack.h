/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "harness/base/error.h"

/* Measures over all @cpus how far, in ns, an event's time lies outside two readings of
 * clock_gettime() around it. Returns 0, or -errno and a message. */
int jp_clock_slack(const int *cpus, unsigned int nr_cpus, uint64_t *slack, struct jp_error *err);
