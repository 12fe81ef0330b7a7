/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/error.h"

/*
 * Stores in @to the real path of @path, through no link of another user. The file and each folder
 * above must belong to a trusted user; nobody else may write there, nor serve the file system: so
 * it cannot change. Returns 0, or -errno and a message: -EPERM names the part that others can
 * change; -ENOENT ...
 */
int jp_trusted_file(const char *path, char *to, size_t size, struct jp_error *err);
int jp_trusted_folder(const char *path, char *to, size_t size, struct jp_error *err);
/* Does the same as jp_trusted_folder(), and also returns -EPERM if other users can add files to the
 * folder: programs found there by name would not be trusted. */
int jp_trusted_programs(const char *path, char *to, size_t size, struct jp_error *err);
/* Returns whether @fd is a folder whose contents nobody else can change. */
bool jp_trusted_open(int fd);
