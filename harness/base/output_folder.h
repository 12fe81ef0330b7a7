/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"

/*
 * The one folder of a process for files whose names are known only when they are made: ours, and
 * nobody else may write into it. A confined process has them made for it.
 */

/* It will be @path, made with the first file. Where it is to lie must be there: -errno and a
 * message. */
int jp_output_folder_begin(const char *path, struct jp_error *err);
/* Where it lies, from the root on. */
const char *jp_output_folder_path(void);
/* A new file, for reading and writing; nobody sees it before it is published. Its descriptor, or
 * -errno and a message. One at a time. */
int jp_output_folder_create(const char *name, struct jp_error *err);
/* What was created gets @name; -EEXIST: there is such a file, and what was created is gone, as it
 * is with any error. */
int jp_output_folder_publish(const char *name, struct jp_error *err);
/* For reading: the regular file @name that is there already. */
int jp_output_folder_existing(const char *name, struct jp_error *err);
/* No more files. One that was not published is gone, and a folder without any. */
void jp_output_folder_end(void);
