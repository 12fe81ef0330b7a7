/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * Whose process serves the file system @dev (of struct stat), if a user's does (FUSE): it can say
 * anything of a file there, its owner too, and something else the next time. False: the kernel
 * alone serves it, as far as our mounts tell.
 */
bool jp_mount_server(dev_t dev, uid_t *user);
