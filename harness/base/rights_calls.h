/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

/* Forbids all system calls that are not needed for reading, computing and writing to open files
 * (seccomp); messages may use only @channel and, unless 0, @peer. Needs PR_SET_NO_NEW_PRIVS.
 * @openat2: allows this call too, although seccomp cannot check its arguments. Returns 0 or
 * -errno. */
int jp_rights_restrict_calls(int channel, int peer, bool openat2);
