/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>

#include "harness/format/jit/code_loads.h"
#include "harness/judge/validator.h"

/* A mapping record that came after the load of a function and covers the function's code. */
struct jp_hider {
	uint64_t time, start, end, file_offset;
	const char *name;  /* as recorded; valid as long as the replay */
	const char *cause; /* why the kernel wrote it: jp_incarnations_mark_covered() */
};

/* One function at one address, from its load or move to its unload or next move. */
struct jp_incarnation {
	const struct jp_truth_code *code;
	uint64_t published_time; /* load time in the jitdump, in ns; UINT64_MAX: not in a jitdump */
	/* The time range in ns in which samples of the code are judged: it surely existed, was
	 * executable, and its process was watched. begin >= end: there is no such time. */
	uint64_t begin, end;
	struct jp_hider hider; /* the first record that covers the code; hider.time 0: none */
	uint64_t low, high;    /* range of addresses that later records cover; low == high: none */
};

/* The incarnations of all functions in the truth, in the truth's order. */
struct jp_incarnations {
	const struct jp_evidence *evidence;
	struct jp_incarnation *incarnations;
	size_t count;
	size_t loads; /* judged incarnations that the jitdumps publish */
	struct jp_strays {
		uint64_t count;
		const struct jp_code_load *first_load;
	} nr_stray, nr_misplaced; /* number of loads that belong to no incarnation; number of loads
			       of another process's code */
	uint64_t largest;         /* size of the largest function, in bytes */
};

/* Fills @incarnations from the truth and @loads. Returns 0 or -ENOMEM. */
int jp_incarnations_collect(const struct jp_view *view, const struct jp_code_loads *loads,
			    struct jp_incarnations *incarnations);
void jp_incarnations_free(struct jp_incarnations *incarnations);
/* Resets the effects of all jp_incarnations_mark_covered() calls, before another pass over the
 * records. */
void jp_incarnations_reset_covered(struct jp_incarnations *incarnations);
/* Returns the incarnation that contained address @ip of process @pid at @time, or NULL. */
struct jp_incarnation *jp_incarnations_find_at(const struct jp_incarnations *incarnations,
					       uint32_t pid, uint64_t ip, uint64_t time);
/* Returns whether another process has a function called @name and @pid has only functions with
 * other names. */
bool jp_incarnations_has_other(const struct jp_incarnations *incarnations, uint32_t pid,
			       const char *name);
/* Returns the index of the first incarnation of @pid that may contain addresses from @start on. The
 * further incarnations of @pid follow in address order. */
size_t jp_incarnations_find_from(const struct jp_incarnations *incarnations, uint32_t pid,
				 uint64_t start);
/* Marks code as covered by mapping record @map, which leads to no injected file: all code in its
 * range that was published before and still exists. @name must outlive the incarnations. Causes:
 * "coalesced": the operation changed other memory, and the kernel reported the merged mapping;
 * "remapped" and "reprotected": it changed this memory; "snapshot": read from /proc; "no-act": the
 * truth has no such operation. */
void jp_incarnations_mark_covered(struct jp_incarnations *incarnations, const struct jp_event *map,
				  const char *name);
