/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_BASE_TRUSTED_USER_H
#define JP_BASE_TRUSTED_USER_H

#include <stdbool.h>
#include <sys/types.h>

/* Root, we ourselves, who wrote the program that runs, and whoever owns the root folder: they could
 * have put anything anywhere. */
bool jp_trusted_user(uid_t user);

#endif
