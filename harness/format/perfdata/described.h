/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/perfdata/attrs.h"
#include "harness/format/perfdata/summary.h"

/* Compares the feature EVENT_DESC, @size bytes at @bytes, with the events of @attrs. Ignores ids,
 * which a tool that rewrites a file may change. */
enum jp_described jp_perf_compare_event_desc(const struct jp_perf_attrs *attrs,
					     const unsigned char *bytes, uint64_t size);
