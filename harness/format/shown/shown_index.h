/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/arguments.h"
#include "harness/base/error.h"
#include "harness/base/map.h"
#include "harness/format/shown/shown.h"

/*
 * The folder `shown` of a case contains a file for each other program that read the case's captures
 * (a reading: what the program shows), and the file `index` with a line "DIGEST NAME" for each file
 * except `messages`, sorted by name. The runner writes the index after the last reading, so that
 * judging notices a missing or altered one. Lines "gone DIGEST PATH" in it name the mapped files
 * that no program could find any more, by the digest of the recorded path.
 */
#define JP_SHOWN_FOLDER "shown"

/* All readings of a case. */
struct jp_shown_files {
	struct jp_shown *files; /* in the order of the index */
	size_t count, capacity;
	struct jp_map missing_paths; /* set of digests of recorded paths */
};

/* Writes the index of @dir/shown. @gone: recorded paths of files that are gone. Returns 0, or
 * -errno and a message. */
int jp_shown_index_write(const char *dir, const struct jp_arguments *gone, struct jp_error *err);
/* Returns whether the file with the recorded path @name was gone when the programs ran. */
bool jp_shown_is_gone(const struct jp_shown_files *files, const char *name);
/* Loads all readers' outputs of case folder @dir; none if the case has no folder `shown`. Returns
 * 0, or -errno and a message if one is missing, not in the index, altered or malformed. The caller
 * frees
 * @files in any case. */
int jp_shown_files_load(struct jp_shown_files *files, const char *dir, struct jp_error *err);
void jp_shown_files_free(struct jp_shown_files *files);
