/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/error.h"

struct jp_session;

/* The moments of jp_attach() at which a case can make the workload act; NULL-terminated. */
extern const char *const jp_attach_boundaries[];
/* Attaches to the session's target: opens sideband events, reads /proc/PID/maps, and, if @sample,
 * opens sampling events. @snapshot_first: a deliberate error: reads the maps before the events are
 * on, so that mappings made in between are missed. Returns 0, or -errno and a message. */
int jp_attach(struct jp_session *session, bool snapshot_first, bool sample, struct jp_error *err);
