/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "harness/base/error.h"

/*
 * Drops privileges of this process for good. Root becomes the user @owner, or nobody if @owner is
 * root. The process then has no groups, no capabilities, no privileges by exec, and only the listed
 * system calls; @channel and @peer are its sockets for messages. Returns 0, or -errno
 * and a message if something could not be dropped, such as in a container; everything else is
 * dropped nevertheless.
 */
int jp_rights_drop(int64_t owner, int channel, int peer, struct jp_error *err);
/* Returns the effective user before jp_rights_drop(): the user who started the command. */
uid_t jp_rights_get_first_user(void);
