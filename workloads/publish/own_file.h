/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Creates @path, mode 0600, for reading and writing, in a directory where other users may have
 * created a file of this name: follows no link and writes to no existing file. Replaces a file that
 * an earlier process of ours with the same pid, or an earlier image of this process, left. Returns
 * the descriptor, or -errno with a line on stderr. */
int jp_create_own_file(const char *path);
