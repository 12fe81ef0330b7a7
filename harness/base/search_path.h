/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Returns the environment for a program that root starts by name. It is our environment without
 * unsafe entries: PATH loses relative folders and folders that other users can write to; JITPROOF_
 * variables that name programs or folders which others can change are removed, and so is another
 * user's TMPDIR. Prints each removal once. For ordinary users returns our environment. Returns NULL
 * if out of memory.
 */
char **jp_search_path_environment(void);
