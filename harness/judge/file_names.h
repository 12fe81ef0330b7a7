/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "harness/format/event.h"
#include "harness/model/symbols/names.h"

/* Counts for a capture without truth how many sampled user addresses perf can name, as `perf report
 * --no-children` names them. */

/* number of perf versions that name different addresses, oldest first; the last one applies all
 * rules that are counted here */
enum { JP_NAMING_PERFS = 5 };
extern const char *const jp_naming_perf_text[JP_NAMING_PERFS];

struct jp_name_counts {
	uint64_t samples; /* number of samples with a user address */
	uint64_t source[JP_NAME_SOURCES];
	uint64_t nr_named[JP_NAMING_PERFS]; /* number of named samples, by version of perf */
};

struct jp_file_names;
/* Returns counts that start at 0, or NULL if out of memory. Takes mappings from @replay and opens
 * files by @finder; the caller keeps both until jp_file_names_free(). */
struct jp_file_names *jp_file_names_new(struct jp_replay *replay, struct jp_file_finder *finder);
void jp_file_names_free(struct jp_file_names *file_names);
/* Counts @event if it is a sample. The caller has applied it to the replay. Returns 0 or
 * -ENOMEM. */
int jp_file_names_count(struct jp_file_names *file_names, const struct jp_event *event);
/* Stores in @total the sums over all processes. */
void jp_file_names_total(const struct jp_file_names *file_names, struct jp_name_counts *total);
/* Returns the counts of process @pid, or NULL if it has no samples. */
const struct jp_name_counts *jp_file_names_get_counts(const struct jp_file_names *file_names,
						      uint32_t pid);
