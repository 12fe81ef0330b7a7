/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/format/perfdata/format.h"

/* Returns whether @attr has the form that our captures request (harness/capture/events.c). Other
 * files of the run directory record the values that vary. The wakeup setting affects no record, so
 * it is ignored. */
bool jp_perf_is_own_attr(const struct jp_perf_attr *attr);
