/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "harness/base/error.h"

/* Stores the numbers of the online CPUs in *@cpus, which the caller frees. Returns how many there
 * are, or -errno and a message. */
int jp_cpus_online(int **cpus, struct jp_error *err);

/* Stores in *@slack the largest error of event times on @cpus, in ns: how far the time of an event
 * lies outside two calls of clock_gettime() around the event. Returns 0, or -errno and a
 * message. */
int jp_clock_slack(const int *cpus, unsigned int nr_cpus, uint64_t *slack, struct jp_error *err);
