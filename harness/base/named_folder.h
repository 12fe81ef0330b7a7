/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

/* Opens (O_PATH) the folder that the first @length bytes of @path name; @length 0: the working
 * directory. Refuses symbolic links of other users, who could redirect root. Returns the
 * descriptor, or -errno; -ELOOP for such a link. */
int jp_open_named_folder(const char *path, size_t length);
