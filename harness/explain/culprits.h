/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/ends.h"

/* Code of one file, or all emitted code, in one process image, with the number of frame-pointer
 * walks that end there and that pass through it. */
struct jp_culprit {
	struct jp_image *image;
	const char *file; /* for emitted code: the name of one of its mappings */
	enum jp_code_kind code;
	uint64_t broken;  /* samples whose stack ends there */
	uint64_t single;  /* part of @broken: without further addresses */
	uint64_t garbage; /* part of @broken: followed by garbage addresses */
	uint64_t passing; /* samples taken in this code whose stack continues to its caller */
	uint64_t callers; /* part of @passing: the caller is missing, because the function has no
			     frame or shows another function's caller */
	uint64_t shared;  /* samples whose stack ends in another file's code, perhaps through this
			     code's fault */
	bool keeps;       /* the code keeps the frame pointer */
	bool breaks;      /* set before jp_culprits_join(): this code causes @broken */
	bool lacks;       /* set before jp_culprits_join(): this code causes @callers */
	uint64_t both;    /* samples in @callers and in @broken or @shared */
	uint64_t again;   /* part of @callers that is also in another file's @broken */

	uint64_t start, end;
	const struct jp_end *worst; /* the end with the most samples */
	const struct jp_end *leaf;  /* where callers are missing most often */
};

struct jp_culprits {
	struct jp_culprit *list;
	size_t count, capacity;
	struct jp_map at; /* index + 1 */
};

/* Returns whether chains show emitted code that calls emitted code. */
bool jp_image_shows_callers(const struct jp_image *image);
/* Finds the culprits. Returns 0 or -ENOMEM. */
int jp_culprits_find(const struct jp_ends *ends, struct jp_culprits *culprits);
/* Counts samples with two faults. */
void jp_culprits_join(const struct jp_ends *ends, struct jp_culprits *culprits);
void jp_culprits_free(struct jp_culprits *culprits);
