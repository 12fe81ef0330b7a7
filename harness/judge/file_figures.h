/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/format/event.h"
#include "harness/model/space/places.h"
#include "harness/model/symbols/names.h"

/* Counts of samples, addresses and mappings in a capture without truth, for each process.
 * ci/perf/compare_figures.py computes the same figures from the text that perf prints: change both
 * together. */

struct jp_figures {
	uint64_t samples;
	uint64_t user_stacks;  /* number of samples with a user address in the callchain */
	uint64_t single_frame; /* number of samples of @user_stacks whose callchain has exactly one
				  user address */
	uint64_t addresses;    /* number of user addresses in callchains */
	uint64_t addresses_unmapped;
	uint64_t rootless; /* number of user stacks that do not end where threads and programs
			      start: main program, libc or ld.so */
	uint64_t mmap2[JP_MAP_PLACES]; /* number of MMAP2 records by place; of MMAP records if the
					  file has no MMAP2 */
	uint64_t mmap[JP_MAP_PLACES];
	uint64_t nr_samples[JP_PLACES]; /* number of samples by the place of the sampled address */
};

struct jp_process_figures {
	uint32_t pid;
	struct jp_figures figures;
	struct jp_places_process *places; /* the mappings of the same pid */
};

struct jp_file_figures;
struct jp_file_figures *jp_file_figures_new(struct jp_replay *replay);
void jp_file_figures_free(struct jp_file_figures *figures);
/* Applies @event to the replay and counts it. Returns 0 or -ENOMEM. */
int jp_file_figures_count(struct jp_file_figures *figures, const struct jp_event *event);
/* Stores in @total the sums over all processes. */
void jp_file_figures_total(struct jp_file_figures *figures, struct jp_figures *total);
/* Returns the processes with samples or mapping records, sorted by pid. The list is valid until the
 * next jp_file_figures_count(). */
const struct jp_process_figures *const *jp_file_figures_processes(struct jp_file_figures *figures,
								  size_t *count);

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
