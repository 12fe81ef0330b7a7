/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"

struct jp_session;

/* Forks the command with @adapter_variable ("NAME=VALUE" or NULL) in its environment, calls
 * @open_events while the child waits before its exec, then lets it exec. Returns 0 after the exec;
 * or -errno and a message, after reaping the child. */
int jp_start_command(struct jp_session *session, char *adapter_variable,
		     int (*open_events)(struct jp_session *session, struct jp_error *err),
		     struct jp_error *err);
