/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/format/event.h"

/* Parses the build id record at @bytes, where @size > 0 bytes are available. @swapped: the record
 * is in the other byte order. Fills @event (JP_EVENT_BUILD_ID), which points into the record, and
 * stores the record's size in *@record_size. Returns NULL, or what was expected. */
const char *jp_perf_parse_build_id(const unsigned char *bytes, uint64_t size, bool swapped,
				   struct jp_event *event, size_t *record_size);
