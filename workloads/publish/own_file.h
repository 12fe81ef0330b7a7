/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Creates @path, 0600, for reading and writing, in a folder where anyone may have put something of
 * that name: nothing is followed or written into. What an earlier process of ours with the same
 * pid, or an earlier image of this one, has left is replaced: another file takes its place. The
 * descriptor, or -errno and a line on stderr.
 */
int jp_own_file(const char *path);
