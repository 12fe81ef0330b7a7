/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The environment for a program that root starts by its name: ours, with a PATH without the folders
 * that others can write to, and without those that are others wherever we are; and without our own
 * variables that name a program, or a folder of programs, that others can change, and a TMPDIR that
 * is another's. Each is said on
 * standard error, once. An ordinary user's is ours. NULL: no memory.
 */
char **jp_search_path_environment(void);
