/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "harness/model/files/file_finder.h"
#include "harness/model/space/replay.h"

/* Finds mapped files that have been replaced by another file of the same path since the recording.
 * Without a build id in the mapping record, perf uses the new file for the old code. */
struct jp_changed_files;
/* Returns new state, or NULL if out of memory. The caller owns @replay and @finder. @recorded: end
 * of the recording; 0: unknown. */
struct jp_changed_files *jp_changed_files_new(struct jp_replay *replay,
					      struct jp_file_finder *finder,
					      struct timespec recorded);
void jp_changed_files_free(struct jp_changed_files *files);

/* Returns whether @mapping's path has another file now, according to inodes and times. */
bool jp_changed_files_has(struct jp_changed_files *files, const struct jp_mapping *mapping);
