/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/arguments.h"
#include "harness/base/error.h"
#include "harness/base/map.h"
#include "harness/format/shown/shown.h"

/*
 * The folder with a case's readings, and its file `index`: lines "DIGEST NAME", sorted by name, one
 * for each other file there but `messages`. The runner writes it behind the last reading, so that
 * judging notices a missing or altered one. Lines "gone DIGEST PATH" name the mapped files that no
 * reader could find any more, by the digest of the recorded path.
 */
#define JP_SHOWN_FOLDER "shown"

/* All readings of a case. */
struct jp_shown_files {
	struct jp_shown *files; /* in the order of the index */
	size_t count, capacity;
	struct jp_map gone; /* digest of a recorded path -> nothing */
};

/* Writes the index of @dir/shown. @gone: recorded paths of files that are gone. Returns 0, or
 * -errno and a message. */
int jp_shown_index_write(const char *dir, const struct jp_arguments *gone, struct jp_error *err);
/* Returns whether the file with the recorded path @name was gone. */
bool jp_shown_is_gone(const struct jp_shown_files *all, const char *name);
/* Reads all readings of case folder @dir; none if it has no folder for them. Returns 0, or -errno
 * and a message if one is missing, not in the index, altered or malformed. Free @all in any case.
 */
int jp_shown_files_load(struct jp_shown_files *all, const char *dir, struct jp_error *err);
void jp_shown_files_free(struct jp_shown_files *all);
