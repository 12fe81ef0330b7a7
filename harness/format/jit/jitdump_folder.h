/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/jit/jitdump_read.h"

/* The jitdumps (jit-*.dump) of a run directory. */
struct jp_jitdump_folder {
	struct jp_jitdump **dumps; /* NULL: one could not be opened */
	uint64_t count, bad;       /* files; those of them that could not be read to their end */
	struct jp_error why;       /* of the first bad one */
};

/* 0, or -errno, which ends it. Of a new file @record is NULL. */
typedef int (*jp_jitdump_visit)(void *context, const struct jp_jitdump_header *header,
				const struct jp_jitdump_record *record);

/* Calls @visit with each record up to a bad one, file by file. 0, or -errno and a message. Records
 * point into the dumps. */
int jp_jitdump_folder_read(const char *dir, struct jp_jitdump_folder *folder,
			   jp_jitdump_visit visit, void *context, struct jp_error *err);
/* Also after an error. */
void jp_jitdump_folder_free(struct jp_jitdump_folder *folder);
