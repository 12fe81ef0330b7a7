/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"

struct jp_session;

/* Maps the rings, and lowers the sampling rate to fit them. Returns 0, or -errno and a message. */
int jp_rings_open(struct jp_session *session, struct jp_error *err);
void jp_rings_close(struct jp_session *session);
