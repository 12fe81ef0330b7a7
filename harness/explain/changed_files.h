/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "harness/model/files/file_finder.h"
#include "harness/model/space/replay.h"

/* Which recorded files have another file in their place today, though no build id of their mapping
 * records tells: perf takes what lies there. */
struct jp_changed_files;
/* @replay, @finder: the caller's; @recorded: when the recording was over, 0: nobody knows. NULL: no
 * memory. */
struct jp_changed_files *jp_changed_files_new(struct jp_replay *replay,
					      struct jp_file_finder *finder,
					      struct timespec recorded);
void jp_changed_files_free(struct jp_changed_files *files);

/* Whether another file lies where @mapping's was, as far as inodes and times tell. */
bool jp_changed_files_has(struct jp_changed_files *files, const struct jp_mapping *mapping);
