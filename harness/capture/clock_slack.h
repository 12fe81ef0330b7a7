/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "harness/base/error.h"

/* Stores in *@slack the largest error of event times on @cpus, in ns: how far the time of an event
 * lies outside two calls of clock_gettime() around the event. Returns 0, or -errno and a
 * message. */
int jp_clock_slack(const int *cpus, unsigned int nr_cpus, uint64_t *slack, struct jp_error *err);
