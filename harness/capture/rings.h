/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"

struct jp_session;

/* Maps the rings, and lowers the rate to what they can hold. */
int jp_rings_open(struct jp_session *session, struct jp_error *err);
void jp_rings_close(struct jp_session *session);
