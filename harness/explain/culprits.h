/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/explain/ends.h"

/* The code of one file, or all emitted code, in one process image, with the numbers of samples
 * whose frame-pointer walk ends in this code or passes through it. */
struct jp_culprit {
	struct jp_image *image;
	const char *file; /* for emitted code: the name of one of its mappings */
	enum jp_code_kind code;
	uint64_t broken;    /* samples whose stack ends in this code */
	uint64_t single;    /* part of @broken: the stack has only the sampled address */
	uint64_t garbage;   /* part of @broken: garbage addresses follow */
	uint64_t starting;  /* part of @broken: before the first sample in emitted code */
	uint64_t system;    /* part of @broken: in the kernel, if the code is libc */
	uint64_t passing;   /* samples taken in this code whose stack continues to its caller */
	uint64_t no_caller; /* part of @passing: the caller is missing, because the function has no
			     frame or shows another function's caller */
	uint64_t shared;    /* samples whose stack ends in another file's code, perhaps through this
			       code's fault */
	bool has_fp;        /* the code keeps the frame pointer */
	bool breaks;        /* set before jp_culprits_join(): this code causes @broken */
	bool lacks;         /* set before jp_culprits_join(): this code causes @no_caller */
	uint64_t both;  /* samples that are counted in @no_caller and also in @broken or @shared */
	uint64_t again; /* part of @no_caller that another file's @broken counts, too */

	uint64_t start, end;
	const struct jp_end *worst; /* the place in this code where most stacks end */
	const struct jp_end *leaf;  /* the place in this code where most callers are missing */
};

struct jp_culprits {
	struct jp_culprit *list;
	size_t count, capacity;
	struct jp_map at; /* index + 1 of a culprit */
};

/* Returns whether callchains of @image show emitted code that calls emitted code. */
bool jp_image_shows_callers(const struct jp_image *image);
/* Finds the culprits. Returns 0 or -ENOMEM. */
int jp_culprits_find(const struct jp_ends *ends, struct jp_culprits *culprits);
/* Fills in @both and @again of all culprits: the samples with two faults. */
void jp_culprits_join(const struct jp_ends *ends, struct jp_culprits *culprits);
void jp_culprits_free(struct jp_culprits *culprits);
