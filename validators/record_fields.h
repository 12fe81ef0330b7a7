/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/format/event.h"

/* Returns the field of @event's record that no kernel writes, and for @ours no reader of /proc of
 * ours either, independent of other records; or NULL. */
const char *jp_record_field(const struct jp_event *event, bool ours);
/* The same for a record that the kernel wrote live, for an event. */
const char *jp_record_live_field(const struct jp_event *event);
