/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/error.h"
#include "harness/base/output.h"

/* A ustar archive (POSIX.1-1988), which every tar reads. Owners and times are 0, so that the same
 * files in the same order give the same bytes. */
struct jp_tar {
	struct jp_output *output;
};

/* Adds a folder. @name is relative and has no part "..". Returns 0, or -EINVAL and a message if it
 * exceeds ustar's 100 and 155 bytes. */
int jp_tar_folder(struct jp_tar *tar, const char *name, struct jp_error *err);
/* Adds @size bytes as the file @name, executable if @runs. */
int jp_tar_file(struct jp_tar *tar, const char *name, bool runs, const void *bytes, size_t size,
		struct jp_error *err);
/* Adds the regular file @path, which must not change meanwhile, as @name. */
int jp_tar_copy(struct jp_tar *tar, const char *name, bool runs, const char *path,
		struct jp_error *err);
/* Writes the final two blocks; the output stays open. */
void jp_tar_end(struct jp_tar *tar);
