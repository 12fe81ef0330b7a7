/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "validators/shown_frames.h"

/* A difference between what a reader shows and what the file holds. */
struct jp_shown_difference {
	const char *reader; /* name and version */
	const char *cause;
	const struct jp_held *held;         /* NULL: it concerns the whole file */
	const struct jp_shown_fault *fault; /* NULL: it concerns no frame */
	const struct jp_shown_frame *frame; /* the shown one at fault->at, or NULL */
	const char *where;  /* name of the mapping of the held frame at fault->at; "": none */
	bool gone;          /* that mapping's file was gone */
	const char *failed; /* the reader's last words, or NULL */
	bool is_folder;     /* the file is a folder */
};

/* Returns the id of the finding (results/FINDINGS.md) that explains the difference, or its cause.
 */
const char *jp_shown_known(const struct jp_shown_difference *difference);
