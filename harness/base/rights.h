/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"

/*
 * Drops privileges of this process for good: root becomes @owner, or nobody if that is root; no
 * groups, no capabilities, no gain by exec, no system call except those of rights_calls.c.
 * @channel, @other: sockets for messages. Returns -errno and a message for what could not be
 * dropped, such as in a container; the rest is dropped.
 */
int jp_rights_drop(int64_t owner, int channel, int other, struct jp_error *err);
/* Returns the user before that, who started the command. */
uid_t jp_rights_user(void);
