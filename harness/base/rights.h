/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"

/*
 * For good, for this process: root becomes @owner, or nobody where that is root; no group of its
 * own, no capability, no way to more by an exec, no system call but those of rights_calls.c.
 * @channel, @other: the sockets that messages may go through. -errno and a message: what could not
 * be given up here, such as in a container; the rest is.
 */
int jp_rights_drop(int64_t owner, int channel, int other, struct jp_error *err);
/* The user that this process ran as before that: who asked. */
uid_t jp_rights_user(void);
