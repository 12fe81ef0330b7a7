/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"
#include "harness/format/event.h"
#include "harness/format/shown/shown.h"
#include "validators/code_names.h"

/* Pairs the samples that one reader shows with the samples of the file that it read. */
struct jp_shown_reading {
	const struct jp_shown *shown;
	bool *is_found; /* by index of a shown sample: a sample of the file has been found */
	struct jp_map absent_processes; /* pid -> struct jp_shown_absent */
	uint64_t nr_recorded;           /* samples in the file */
	uint64_t equal;                 /* samples that the reader shows as the file holds them */
	uint64_t nr_missing, nr_invented;
	uint64_t unequal_shares; /* functions to which the reader's profile gives another number */
};

struct jp_shown_absent {
	uint64_t samples, nr_absent;
	uint64_t time; /* time of the first absent sample */
	uint32_t tid;
};

/* Prepares @reading, whose @shown is set. Returns 0 or -ENOMEM. */
int jp_shown_reading_init(struct jp_shown_reading *reading);
void jp_shown_reading_free(struct jp_shown_reading *reading);
/* Counts the sample @event of the file and stores in *@found the sample that the reader shows for
 * it, or NULL. Returns 0 or -ENOMEM. */
int jp_shown_reading_find(struct jp_shown_reading *reading, const struct jp_event *event,
			  const struct jp_shown_sample **found);
/* Returns the first shown sample, from index *@from on, that the file does not have, or NULL.
 * Advances *@from. */
const struct jp_shown_sample *jp_shown_reading_next_invented(const struct jp_shown_reading *reading,
							     size_t *from);

/* Returns whether a line of the perf map of @pid with @name overlaps another line. */
bool jp_shown_name_overlaps(const struct jp_naming *naming, uint32_t pid, const char *name);

/* Compares the name that @frame shows for @addr, in the process of @event, with the true name and
 * with the name that perf's rules find in the same file. @caller: @addr is the address before a
 * return address. Sets *@judged if @addr lies in emitted code that is not changing. Returns a cause
 * id if the name equals neither of them, else NULL. */
const char *jp_shown_name_cause(const struct jp_naming *naming, const struct jp_event *event,
				const struct jp_shown_frame *frame, uint64_t addr, bool caller,
				bool *judged);
