/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_CAPTURE_START_H
#define JP_CAPTURE_START_H

#include <stdbool.h>

#include "harness/base/error.h"

struct jp_session;

/* A command that waits before it execs. */
/* Forks it, with @added ("NAME=VALUE", may be NULL) in its environment. The descriptor of its
 * channel, or -errno. */
int jp_start_command(struct jp_session *session, char *added, struct jp_error *err);
/* Lets it exec; returns when it did. */
int jp_start_release(struct jp_session *session, int channel, struct jp_error *err);
/* Closes the channel; where the start @failed, reaps what is left. */
void jp_start_end(struct jp_session *session, int channel, bool failed);

#endif
