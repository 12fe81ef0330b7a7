/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/text_pool.h"
#include "harness/model/causes/causes.h"

enum { JP_BLAME_RANGES = 8, JP_BLAME_EVIDENCE = 3 };

/* What one cause costs in one place: of one process, of one file where there is one. */
struct jp_blame {
	const struct jp_cause *cause;
	uint64_t samples; /* whose stack or names it costs */
	uint64_t stacks;  /* of those, or besides: whose stack it costs, where it may cost both; of
			   * the  two the larger counts */
	uint64_t again;   /* of @samples: at another place of the cause, too */
	uint64_t absent;  /* of @samples: not in the file */
	uint32_t pid;
	const char *process; /* its name */
	const char *file;    /* NULL: none */
	struct jp_blame_range {
		uint64_t start, end;
	} ranges[JP_BLAME_RANGES];
	size_t nr_ranges;
	char evidence[JP_BLAME_EVIDENCE][512]; /* a line each that a user can check */
	size_t nr_evidence;
	char remedy[512]; /* a command, or the runtime's option */
};

/* All of a file; all zero to start with. */
struct jp_blames {
	struct jp_blame **list;
	size_t count, capacity;
	struct jp_text_pool texts;
	struct jp_map at;
	bool failed;           /* memory ran out, and some are missing: to be asked at the end */
	struct jp_blame spare; /* given then */
};

/* The one of cause @id in @file (may be NULL) of @pid, made where it is new (its evidence and
 * remedy are empty then), with @samples more. It stays where it is. Without memory @blames fail. */
struct jp_blame *jp_blame(struct jp_blames *blames, const char *id, uint32_t pid,
			  const char *process, const char *file, uint64_t samples);
/* Neighbours are joined; of too many, the first stay. */
void jp_blame_range(struct jp_blame *blame, uint64_t start, uint64_t end);
/* Of more than three lines the first stay. */
void jp_blame_evidence(struct jp_blame *blame, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void jp_blame_remedy(struct jp_blame *blame, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void jp_blames_free(struct jp_blames *blames);

/* One cause in all its places, the worst place first. */
struct jp_blamed {
	const struct jp_cause *cause;
	uint64_t samples, absent;
	double share;             /* of the file's samples and the absent ones */
	struct jp_blame **places; /* into the blames' list */
	size_t nr_places;
};
/* Causes by their share of the file's @samples, most first; free() the list. It reorders the
 * blames. NULL: no memory. */
struct jp_blamed *jp_blames_rank(struct jp_blames *blames, uint64_t samples, size_t *count);
