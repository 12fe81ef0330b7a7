/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/format/event.h"
#include "harness/model/space/places.h"

/* Counts of a capture without truth, by process. ci/peer/perfdata_peer.py computes the same figures
 * from perf's own text: change both together. */

struct jp_figures {
	uint64_t samples;
	uint64_t user_stacks;  /* samples with a user address in the callchain */
	uint64_t single_frame; /* part of @user_stacks: with exactly one address */
	uint64_t addresses;    /* user addresses in callchains */
	uint64_t addresses_unmapped;
	uint64_t rootless;             /* user stacks whose outermost address is in no known root */
	uint64_t mmap2[JP_MAP_PLACES]; /* MMAP2 records; MMAP if the whole file has no MMAP2 */
	uint64_t mmap[JP_MAP_PLACES];
	uint64_t sampled[JP_PLACES]; /* samples by the place of their address */
};

struct jp_process_figures {
	uint32_t pid;
	struct jp_figures figures;
	struct jp_places_process *places; /* the mappings of the same pid */
};

struct jp_file_figures;
struct jp_file_figures *jp_file_figures_new(struct jp_replay *replay);
void jp_file_figures_free(struct jp_file_figures *all);
/* Counts @event and applies it to the replay. Returns 0 or -ENOMEM. */
int jp_file_figures_count(struct jp_file_figures *all, const struct jp_event *event);
/* Sums the figures of all processes. */
void jp_file_figures_total(struct jp_file_figures *all, struct jp_figures *total);
/* Returns the processes with samples or mapping records, by pid. Valid until the next count. */
const struct jp_process_figures *const *jp_file_figures_processes(struct jp_file_figures *all,
								  size_t *count);
