/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "validators/shown_frames.h"

/* A difference between what a reader shows and what the file holds. */
struct jp_shown_difference {
	const char *reader; /* name and version of the reader */
	const char *cause;
	const struct jp_held *held;         /* NULL: the difference concerns the whole file */
	const struct jp_shown_fault *fault; /* NULL: the difference concerns no frame */
	const struct jp_shown_frame *frame; /* the shown frame number fault->at, or NULL */
	const char *where; /* name of the mapping that contains the frame; "": none; NULL: the
			      difference concerns no frame and no name */
	const char *from; /* name of the mapping of the frame before, from which the reader went on;
			     NULL: none, or unknown */
	bool reused;      /* one of the two covers memory in which older code ended before */
	bool gone;        /* the file of the mapping @where no longer exists */
	bool attached;    /* the capture attached to the running workload */
	const char *failed; /* why the reader failed; NULL: it did not */
	bool is_folder;     /* the capture is a folder, not a single file */
	bool late;          /* the thread started after the exit of its process's main thread */
	bool overlaps;      /* the function whose samples are counted overlaps another function in
			       the perf map */
};

/* Returns the id of the finding (results/FINDINGS.md) that explains @difference, or, if there is
 * none, difference->cause. */
const char *jp_shown_find_known_defect(const struct jp_shown_difference *difference);
