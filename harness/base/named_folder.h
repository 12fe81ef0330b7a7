/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

/*
 * The folder that the first @length bytes of @path name (none: the working directory), as somewhere
 * to go on from (O_PATH), unless a link of another user's leads there: root's folder by any name of
 * theirs is not what was meant. The descriptor, or -errno: -ELOOP for such a link.
 */
int jp_named_folder(const char *path, size_t length);
