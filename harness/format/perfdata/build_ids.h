/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/format/event.h"

/* The build id record at @bytes (@swapped: of the other byte order), of which @size > 0 are there:
 * @event (JP_EVENT_BUILD_ID), with pointers into it, and how long it is in *@taken. NULL, or what
 * was expected. */
const char *jp_perf_build_id(const unsigned char *bytes, uint64_t size, bool swapped,
			     struct jp_event *event, size_t *taken);
