/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Returns whether @user is root, this process's user, the owner of the running program, or the
 * owner of the root folder: these users could have replaced any file that we run. */
bool jp_is_trusted_user(uid_t user);
