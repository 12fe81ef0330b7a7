/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "harness/base/error.h"

/* Opens (O_PATH) the folder that the first @length bytes of @path name; @length 0: the working
 * directory. Refuses symbolic links of other users, who could redirect root. Returns the
 * descriptor, or -errno; -ELOOP for such a link. */
int jp_open_named_folder(const char *path, size_t length);

/* Returns whether @user is root, this process's user, the owner of the running program, or the
 * owner of the root folder: these users could have replaced any file that we run. */
bool jp_is_trusted_user(uid_t user);

/* Stores in *@user the user whose process serves the file system @dev (st_dev), as with FUSE. Such
 * a process can report anything about a file, including its owner, and change it at any time.
 * Returns false if our list of mounts shows no such server. */
bool jp_mount_find_server(dev_t dev, uid_t *user);

/*
 * Stores in @path_out the absolute path of @path without links, if only trusted users can change
 * the file: no link on the way belongs to another user, the file and each folder above belong to a
 * trusted user, and nobody else may write to them or serve the file system. Returns 0, or -errno
 * and a message: -EPERM names the part that others can change; -ENOENT ...
 */
int jp_trusted_find_file(const char *path, char *path_out, size_t size, struct jp_error *err);
int jp_trusted_find_folder(const char *path, char *path_out, size_t size, struct jp_error *err);
/* Does the same as jp_trusted_find_folder(), and also returns -EPERM if other users can add files
 * to the folder, because programs are found there by name. */
int jp_trusted_find_programs(const char *path, char *path_out, size_t size, struct jp_error *err);
/* Returns whether @fd is a folder whose contents nobody else can change. */
bool jp_trusted_open(int fd);
