/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_CAPTURE_SESSION_INFO_H
#define JP_CAPTURE_SESSION_INFO_H

#include "harness/base/error.h"

struct jp_session;

/* DIR/capture, of a session that records itself. */
int jp_session_info_write(struct jp_session *session, struct jp_error *err);

#endif
