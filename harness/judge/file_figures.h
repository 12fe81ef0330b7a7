/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_FILE_FIGURES_H
#define JP_FILE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/format/event.h"
#include "harness/model/space/replay.h"

/*
 * What a capture without truth tells of itself: counts, by process. ci/peer/perfdata_peer.py
 * computes the same from perf's own text; a change here is a change there.
 */

/* Where an address lies, by the name of the executable mapping; there is no code in others. */
enum jp_place {
	JP_PLACE_FILE,  /* a path */
	JP_PLACE_ANON,  /* //anon, [anon:...], [stack], no name */
	JP_PLACE_MEMFD, /* /memfd:... */
	JP_PLACE_OTHER, /* vDSO, heap, /dev/zero, SysV, hugetlb, the kernel's own mappings */
	JP_PLACE_UNMAPPED,
	JP_PLACE_KERNEL, /* of a sampled address only: not the user's */
	JP_PLACE_GUEST,  /* the same: a virtual machine's */
	JP_PLACES,
	JP_MAP_PLACES = JP_PLACE_UNMAPPED, /* those that a mapping record can have */
};
extern const char *const jp_place_text[JP_PLACES];

struct jp_figures {
	uint64_t samples;
	uint64_t user_stacks;  /* samples with a user address in the callchain */
	uint64_t single_frame; /* of those, with exactly one */
	uint64_t addresses;    /* user addresses in callchains */
	uint64_t addresses_unmapped;
	uint64_t rootless; /* user stacks whose outermost address is in no known root */
	uint64_t mmap2[JP_MAP_PLACES];
	uint64_t sampled[JP_PLACES]; /* samples by the place of their address */
};

struct jp_process_figures {
	uint32_t pid;
	struct jp_figures figures;
	/* What follows serves the counting. */
	const char *program; /* the file of the main program */
	bool program_known;  /* that is no guess */
	bool execs;          /* its exec was seen */
	uint64_t generation; /* of its address space when @epoch was drawn */
	uint64_t checked;    /* number of records applied by then */
	uint32_t epoch;      /* names this state of this address space in the cache */
};

struct jp_file_figures;
struct jp_file_figures *jp_file_figures_new(struct jp_replay *replay);
void jp_file_figures_free(struct jp_file_figures *all);
/* Counts @event and applies it to the replay. 0 or -ENOMEM. */
int jp_file_figures_count(struct jp_file_figures *all, const struct jp_event *event);
/* The sum over all. */
void jp_file_figures_total(const struct jp_file_figures *all, struct jp_figures *total);
/* By pid; those with neither samples nor MMAP2 records are not among them. Valid until the next
 * count. */
const struct jp_process_figures *const *jp_file_figures_processes(struct jp_file_figures *all,
								  size_t *count);

#endif
