/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"

/* The only folder of a process for files whose names are known late. It is ours, and no other user
 * may write into it. A confined process requests its files. */

/* Sets its path; the first file creates it. The parent must exist. Returns 0, or -errno and a
 * message. */
int jp_output_folder_begin(const char *path, struct jp_error *err);
/* Returns its absolute path. */
const char *jp_output_folder_path(void);
/* Creates a file for reading and writing, invisible until it is published. Only one such file can
 * exist at a time. Returns its descriptor, or -errno and a message. */
int jp_output_folder_create(const char *name, struct jp_error *err);
/* Names the created file @name. Returns 0, or -errno, with the file deleted; -EEXIST: the name is
 * taken. */
int jp_output_folder_publish(const char *name, struct jp_error *err);
/* Opens the existing regular file @name for reading. */
int jp_output_folder_existing(const char *name, struct jp_error *err);
/* Ends the folder: drops a file that was not published, and an empty folder. */
void jp_output_folder_end(void);
