/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/format/shown/shown.h"

/*
 * The folder with a case's readings, and its file `index`: lines "DIGEST NAME", sorted by name, one
 * for each other file there but `messages`. The runner writes it behind the last reading, so that
 * judging notices a missing or altered one.
 */
#define JP_SHOWN_FOLDER "shown"

/* All readings of a case. */
struct jp_shown_files {
	struct jp_shown *files; /* in the order of the index */
	size_t count, capacity;
};

/* Writes the index of @dir/shown. Returns 0, or -errno and a message. */
int jp_shown_index_write(const char *dir, struct jp_error *err);
/* Reads all readings of case folder @dir; none if it has no folder for them. Returns 0, or -errno
 * and a message if one is missing, not in the index, altered or malformed. Free @all in any case.
 */
int jp_shown_files_load(struct jp_shown_files *all, const char *dir, struct jp_error *err);
void jp_shown_files_free(struct jp_shown_files *all);
