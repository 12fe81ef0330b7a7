/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/format/event.h"

/* What of @event, which has a record, no kernel writes, and of @ours not our reader of /proc
 * either, whatever comes before it and after it: the cause, or NULL. */
const char *jp_record_field(const struct jp_event *event, bool ours);
/* The same of what the kernel wrote as it happened, for an event. */
const char *jp_record_live_field(const struct jp_event *event);
