/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A directory for files that a workload creates and runs. It lies next to the truth, where no other
 * user can replace files. A process that exits normally removes it with its content. */
enum { JP_FOLDER_PATH = 4096 };
/* Returns the path of the directory, which the first call creates. On failure prints the reason to
 * stderr and returns NULL. */
const char *jp_folder(void);
/* Stores the path of file @name in the directory. Returns 0, or -EIO if there is no directory. */
int jp_folder_path(char path[JP_FOLDER_PATH], const char *name);
void jp_folder_remove(void);
/* Copies @program to the new executable file @path, which must lie in the directory of jp_folder().
 * Returns 0 or -errno. */
int jp_folder_copy(const char *program, const char *path);
/* Copies the file @path to a new memfd called @name. Stores the path by which this process, and its
 * children until they exec, can load or execute the memfd. Returns 0 or -errno. */
int jp_memfd_copy(const char *path, const char *name, char copy[JP_FOLDER_PATH]);
