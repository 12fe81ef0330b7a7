/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/inject/inject_dumps.h"

/* Adds the mapping record @event to the markers if it maps a jitdump. Returns 0 or -ENOMEM. */
int jp_inject_marker(struct jp_inject_dumps *dumps, const struct jp_event *event,
		     const struct jp_perf_layout *layout);
/* Reads the jitdumps of all markers and writes their ELF files. Returns like
 * jp_inject_read_dump(). */
int jp_inject_read(struct jp_inject_dumps *dumps, const struct jp_inject_read *reading,
		   struct jp_error *err);
