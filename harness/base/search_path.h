/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_BASE_SEARCH_PATH_H
#define JP_BASE_SEARCH_PATH_H

/*
 * Before root starts a program by its name: takes out of PATH each folder that others can write to,
 * and each that is another one wherever we are, and says so on standard error. Once is enough.
 */
void jp_search_path_clean(void);

#endif
