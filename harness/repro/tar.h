/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/error.h"
#include "harness/base/output.h"

/*
 * A ustar archive (POSIX.1-1988), which every tar reads. Who packed it and when is left out: owner
 * and times are 0, so that the same files in the same order make the same bytes.
 */
struct jp_tar {
	struct jp_output *output;
};

/* @name is relative and has no part "..". -EINVAL where it does not fit ustar's 100 and 155 bytes.
 */
int jp_tar_folder(struct jp_tar *tar, const char *name, struct jp_error *err);
/* @size bytes as the file @name, executable where @runs. */
int jp_tar_file(struct jp_tar *tar, const char *name, bool runs, const void *bytes, size_t size,
		struct jp_error *err);
/* The regular file @path, which must not change meanwhile, as @name. */
int jp_tar_copy(struct jp_tar *tar, const char *name, bool runs, const char *path,
		struct jp_error *err);
/* The two blocks that end it; the output stays open. */
void jp_tar_end(struct jp_tar *tar);
