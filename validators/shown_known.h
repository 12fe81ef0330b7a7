/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "validators/shown_held.h"

/* A difference between what a reader shows and what the file holds. */
struct jp_shown_difference {
	const char *reader; /* name and version of the reader */
	const char *cause;
	const struct jp_held *held;         /* NULL: the difference concerns the whole file */
	const struct jp_shown_fault *fault; /* NULL: the difference concerns no frame */
	const struct jp_shown_frame *frame; /* the shown frame number fault->at, or NULL */
	const char *mapping; /* name of the mapping that contains the frame; "": none; NULL: the
			      difference concerns no frame and no name */
	const char *previous_mapping; /* name of the mapping of the frame before, from which the
			     reader went on; NULL: none, or unknown */
	bool reused;             /* one of the two covers memory in which older code ended before */
	bool file_is_gone;       /* the file of the mapping @mapping no longer exists */
	bool has_attached;       /* the capture attached to the running workload */
	const char *failure;     /* why the reader failed; NULL: it did not */
	bool is_injected_folder; /* the reader read a folder that perf inject wrote */
	bool is_late;  /* the thread started after the exit of its process's main thread */
	bool overlaps; /* the function whose samples are counted overlaps another function in
			  the perf map */
};

/* Returns the id of the finding (results/FINDINGS.md) that explains @difference, or, if there is
 * none, difference->cause. */
const char *jp_shown_find_known_defect(const struct jp_shown_difference *difference);
