/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Returns whether @user is root, ourselves, the owner of the running program, or the owner of the
 * root folder: they could have put anything anywhere. */
bool jp_trusted_user(uid_t user);
