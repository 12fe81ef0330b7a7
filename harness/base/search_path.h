/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Returns the environment for a program that root starts by name: ours, with a PATH without
 * relative folders and without folders that other users can write to; and without our variables
 * that name a program, or a folder of programs, that others can change, and without another user's
 * TMPDIR. Prints each removal once. For ordinary users returns our environment. NULL: out of
 * memory.
 */
char **jp_search_path_environment(void);
