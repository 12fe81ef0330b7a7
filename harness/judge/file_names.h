/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/format/event.h"
#include "harness/model/symbols/names.h"

/* What names perf gives to the sampled user addresses of a capture without truth: the counts of
 * `perf report --no-children`. */

/* perfs whose rules differ, oldest first; the last one knows all that is counted here. */
enum { JP_NAMING_PERFS = 5 };
extern const char *const jp_naming_perf_text[JP_NAMING_PERFS];

struct jp_name_counts {
	uint64_t samples; /* with an address of user space */
	uint64_t how[JP_NAME_HOWS];
	uint64_t named[JP_NAMING_PERFS]; /* by each perf */
};

struct jp_file_names;
/* Mappings are those of @replay, files are found by @finder; both outlive it. NULL: no memory. */
struct jp_file_names *jp_file_names_new(struct jp_replay *replay, struct jp_file_finder *finder);
void jp_file_names_free(struct jp_file_names *all);
/* Counts @event, which the replay knows of. 0 or -ENOMEM. */
int jp_file_names_count(struct jp_file_names *all, const struct jp_event *event);
/* The sum over all. */
void jp_file_names_total(const struct jp_file_names *all, struct jp_name_counts *total);
/* Of one process; NULL: it has no samples. */
const struct jp_name_counts *jp_file_names_of(const struct jp_file_names *all, uint32_t pid);
