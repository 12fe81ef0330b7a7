/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/format/event.h"
#include "harness/model/symbols/names.h"

/* Names that perf gives to the sampled user addresses of a capture without truth: the counts of
 * `perf report --no-children`. */

/* number of perf versions with different rules, oldest first; the last one has all rules that are
 * counted here */
enum { JP_NAMING_PERFS = 5 };
extern const char *const jp_naming_perf_text[JP_NAMING_PERFS];

struct jp_name_counts {
	uint64_t samples; /* samples with an address of user space */
	uint64_t how[JP_NAME_HOWS];
	uint64_t named[JP_NAMING_PERFS]; /* named samples, by version of perf */
};

struct jp_file_names;
/* Returns new counts, or NULL if out of memory. Mappings come from @replay, files from @finder;
 * both must live longer. */
struct jp_file_names *jp_file_names_new(struct jp_replay *replay, struct jp_file_finder *finder);
void jp_file_names_free(struct jp_file_names *all);
/* Counts @event, which the replay has applied. Returns 0 or -ENOMEM. */
int jp_file_names_count(struct jp_file_names *all, const struct jp_event *event);
/* Sums the counts of all processes. */
void jp_file_names_total(const struct jp_file_names *all, struct jp_name_counts *total);
/* Returns the counts of one process, or NULL if it has no samples. */
const struct jp_name_counts *jp_file_names_of(const struct jp_file_names *all, uint32_t pid);
