/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/format/perfdata/format.h"

/* Returns whether @attr has the form that this project's captures request
 * (harness/capture/events.c). Values that vary are recorded in other files of the run directory.
 * Ignores the wakeup setting, which affects no record. */
bool jp_perf_is_own_attr(const struct jp_perf_attr *attr);
