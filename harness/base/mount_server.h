/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Stores in *@user the user whose process serves the file system @dev (st_dev), as with FUSE. Such
 * a process can report anything about a file, including its owner, and change it at any time.
 * Returns false if our list of mounts shows no such server. */
bool jp_mount_find_server(dev_t dev, uid_t *user);
