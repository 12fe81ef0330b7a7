/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "harness/base/error.h"

/*
 * Where @path truly lies: into @to, without a link; no link of another user's leads there. It and
 * each folder above it must belong to a trusted user, and nobody else may write there, nor serve
 * the file system: so it stays what it is. 0, or -errno and a message: -EPERM, which names the part
 * that others can change; -ENOENT ...
 */
int jp_trusted_file(const char *path, char *to, size_t size, struct jp_error *err);
int jp_trusted_folder(const char *path, char *to, size_t size, struct jp_error *err);
/* As jp_trusted_folder(); and nobody else can put anything there, so that what is taken from there
 * by its name is ours. */
int jp_trusted_programs(const char *path, char *to, size_t size, struct jp_error *err);
/* Whether nobody else can change what is in the folder of @st. */
bool jp_trusted_stat(const struct stat *st);
