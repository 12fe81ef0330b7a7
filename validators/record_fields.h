/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/format/event.h"

/* Returns a cause id if the record of @event has a field value that the kernel cannot write, else
 * NULL. @is_own: jitproof's capture wrote the file, so synthesized records must have its form. */
const char *jp_record_check_fields(const struct jp_event *event, bool is_own);
/* Does the same as jp_record_check_fields() for a record that the kernel wrote when its event
 * happened. */
const char *jp_record_check_live_fields(const struct jp_event *event);
