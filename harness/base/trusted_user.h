/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Root, we ourselves, who wrote the program that runs, and whoever owns the root folder: they could
 * have put anything anywhere. */
bool jp_trusted_user(uid_t user);
