/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/ends.h"

/* The code of one file, or all emitted code, of one image of a process: how often the kernel's walk
 * by frame pointers ends there, and how often it comes through. */
struct jp_culprit {
	struct jp_image *image;
	const char *file; /* of emitted code the name of some of its memory */
	enum jp_code_kind code;
	uint64_t broken;  /* samples whose stack ends there */
	uint64_t single;  /* of those, with no other address */
	uint64_t garbage; /* of those, with addresses behind it that are none */
	uint64_t passing; /* samples taken there whose stack goes on */
	uint64_t callers; /* of those, without the caller: the function has no frame, or shows
			   * another's caller */
	uint64_t shared;  /* samples that end in another file's code and may be this one's fault */
	bool keeps;       /* the file was built to keep the frame pointer */
	bool breaks;      /* to be set before jp_culprits_join(): @broken is its fault */
	bool lacks;       /* so are @callers */
	uint64_t both;    /* samples that are of @callers, and of @broken or @shared */
	uint64_t again;   /* of @callers: they are of another file's @broken */

	uint64_t start, end;
	const struct jp_end *worst; /* where most end */
	const struct jp_end *leaf;  /* where most lack the caller */
};

struct jp_culprits {
	struct jp_culprit *list;
	size_t count, capacity;
	struct jp_map at; /* index + 1 */
};

/* Whether chains show emitted code that calls emitted code. */
bool jp_image_shows_callers(const struct jp_image *image);
/* 0 or -ENOMEM. */
int jp_culprits_find(const struct jp_ends *ends, struct jp_culprits *culprits);
/* Counts the samples that have two faults. */
void jp_culprits_join(const struct jp_ends *ends, struct jp_culprits *culprits);
void jp_culprits_free(struct jp_culprits *culprits);
