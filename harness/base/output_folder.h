/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"

/* A folder for output files whose names are not known in advance; a process has at most one. It
 * belongs to this user, and no other user may write into it. A confined process (confine.h) asks
 * the waiting process to create the files. */

/* Sets the folder's path. Its parent must exist. The first file creates the folder. Returns 0, or
 * -errno and a message. */
int jp_output_folder_begin(const char *path, struct jp_error *err);
/* Returns the folder's absolute path. */
const char *jp_output_folder_path(void);
/* Creates a file for reading and writing, invisible until it is published. Only one such file can
 * exist at a time. Returns its descriptor, or -errno and a message. */
int jp_output_folder_create(const char *name, struct jp_error *err);
/* Gives the name @name to the file of jp_output_folder_create(). On failure deletes that file and
 * returns -errno; -EEXIST if another file has the name. */
int jp_output_folder_publish(const char *name, struct jp_error *err);
/* Opens the existing regular file @name for reading. */
int jp_output_folder_existing(const char *name, struct jp_error *err);
/* Deletes a file that was not published, and the folder if this process created it and it is
 * empty. */
void jp_output_folder_end(void);
