/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/jit/jitdump_read.h"

/* The jitdumps (jit-*.dump) of a run directory. */
struct jp_jitdump_folder {
	struct jp_jitdump **dumps; /* NULL: the file could not be opened */
	uint64_t count, nr_bad; /* @count: number of files; @nr_bad: number of files that could not
				be read completely */
	struct jp_error first_error; /* error of the first bad file */
};

/* Handles a record. @record is NULL at the start of each file. Returns 0, or -errno to stop. */
typedef int (*jp_jitdump_visit)(void *context, const struct jp_jitdump_header *header,
				const struct jp_jitdump_record *record);

/* Calls @visit with each record of the jitdumps in the folder, file by file, each file up to its
 * first invalid record. Records point into @folder's dumps. Returns 0, or -errno and a message. */
int jp_jitdump_folder_read(const char *dir, struct jp_jitdump_folder *folder,
			   jp_jitdump_visit visit, void *context, struct jp_error *err);
/* Does the same as jp_jitdump_folder_read() with the files @paths, which must belong to user @owner
 * (-1: any user). */
int jp_jitdump_files_read(char *const *paths, size_t count, int64_t owner,
			  struct jp_jitdump_folder *folder, jp_jitdump_visit visit, void *context,
			  struct jp_error *err);
/* Frees @folder's dumps. Call it after an error too. */
void jp_jitdump_folder_free(struct jp_jitdump_folder *folder);
