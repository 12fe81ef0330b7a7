/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

/* Case folders of a run directory, in the order of names. */
struct jp_case_folders {
	char **paths;
	size_t count, capacity;
};

/* Stores in @folders @dir itself, if it is a case folder, else the case folders up to two levels
 * below it. Returns 0, or -errno if @dir cannot be read. */
int jp_case_folders_find(struct jp_case_folders *folders, const char *dir);
void jp_case_folders_free(struct jp_case_folders *folders);
