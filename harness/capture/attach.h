/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/error.h"

struct jp_session;

/* Boundaries of jp_attach(). */
extern const char *const jp_attach_boundaries[];
/* Attaches completely, in the right order or with the snapshot first (a control). @sample: with
 * sampling events. Returns 0, or -errno and a message. */
int jp_attach(struct jp_session *session, bool snapshot_first, bool sample, struct jp_error *err);
