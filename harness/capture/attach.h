/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/base/error.h"

struct jp_session;

/* Those of jp_attach(). */
extern const char *const jp_attach_boundaries[];
/* The whole attach, in its right order or with the snapshot first (a control); @sample: sampling
 * events too. */
int jp_attach(struct jp_session *session, bool snapshot_first, bool sample, struct jp_error *err);
