/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"

struct jp_session;

/* Forks the command, with @added ("NAME=VALUE", may be NULL) in its environment; calls @open while
 * it waits before its exec; then allows that. Returns 0 after the exec; on errors the child is
 * gone. */
int jp_start_command(struct jp_session *session, char *added,
		     int (*open)(struct jp_session *session, struct jp_error *err),
		     struct jp_error *err);
