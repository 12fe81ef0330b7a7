/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

/* Opens (O_PATH) the folder that the first @length bytes of @path name (none: the working
 * directory), unless a link of another user leads there: users must not redirect root. Returns the
 * descriptor, or -errno; -ELOOP for such a link. */
int jp_named_folder(const char *path, size_t length);
