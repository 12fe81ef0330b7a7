/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A folder for files that a workload makes, and runs, beside its truth, which lies where nobody
 * else can put others in their place; it is removed with all that is in it when the process ends in
 * order.
 */
enum { JP_FOLDER_PATH = 4096 };
/* Its path, made at the first call; NULL and a line on stderr. */
const char *jp_folder(void);
/* The path of @name in it. 0 or -EIO, as above. */
int jp_folder_path(char path[JP_FOLDER_PATH], const char *name);
void jp_folder_remove(void);
/* Copies @program, to be run, to @path, which must not exist, in such a folder. 0 or -errno. */
int jp_folder_copy(const char *program, const char *path);
