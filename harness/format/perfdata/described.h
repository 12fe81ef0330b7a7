/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/perfdata/attrs.h"
#include "harness/format/perfdata/summary.h"

/* Whether the feature EVENT_DESC, @size bytes at @bytes, lists the events of @attrs: their ids
 * aside, which whoever rewrites a file may have changed. */
enum jp_described jp_perf_described(const struct jp_perf_attrs *attrs, const unsigned char *bytes,
				    uint64_t size);
