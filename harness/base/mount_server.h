/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Finds the user whose process serves the file system @dev (of struct stat), if any (FUSE): it can
 * state anything about a file, its owner included, and change that at any time. Returns false if
 * only the kernel serves it, by our mounts. */
bool jp_mount_server(dev_t dev, uid_t *user);
