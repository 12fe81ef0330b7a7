/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/format/perfdata/format.h"

/* Whether a capture of ours may have asked for @attr (harness/capture/events.c): what it leaves
 * free another file of the run directory states. When a ring's reader is woken shows nowhere. */
bool jp_perf_own_attr(const struct jp_perf_attr *attr);
