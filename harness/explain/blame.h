/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/text_pool.h"
#include "harness/model/causes/causes.h"

enum { JP_BLAME_RANGES = 8, JP_BLAME_EVIDENCE = 3 };

/* The cost of one cause in one place: a process, or a file in a process. */
struct jp_blame {
	const struct jp_cause *cause;
	uint64_t samples; /* samples whose stack or names the cause breaks */
	uint64_t stacks;  /* samples whose stack the cause breaks, if it can break both stacks and
			     names; part of @samples or not; the larger count is valid */
	uint64_t seconds; /* part of @stacks that another cause breaks before this one does */
	uint64_t again;   /* part of @samples that is also counted at another place of the cause */
	uint64_t absent;  /* part of @samples that were never recorded */
	bool unnamed;     /* the frames have no names either: no mapping contains them */
	uint64_t names;   /* part of @samples without names; jp_blames_rank() counts them */
	/* The remedy also restores @repairs samples, a part of @stacks, that another cause,
	 * @repaired, breaks. @repaired NULL: no samples. */
	const struct jp_cause *repaired;
	uint64_t repairs;
	uint32_t pid;
	const char *process; /* name of the process */
	const char *file;    /* NULL: no file */
	struct jp_blame_range {
		uint64_t start, end;
	} ranges[JP_BLAME_RANGES];
	size_t nr_ranges;
	char evidence[JP_BLAME_EVIDENCE][512]; /* one verifiable line each */
	size_t nr_evidence;
	char remedy[512]; /* a command, or an option of the runtime */
};

/* All blames of a perf.data file; starts as all zero. */
struct jp_blames {
	struct jp_blame **list;
	size_t count, capacity;
	struct jp_text_pool texts;
	struct jp_map at;
	bool failed;           /* out of memory, so blames are missing: check at the end */
	struct jp_blame spare; /* returned if out of memory */
};

/* Adds @samples to the blame of cause @id in @file (may be NULL) of @pid, and returns the blame. A
 * new blame has no evidence and no remedy yet. The address is permanent. If out of memory, returns
 * @blames->spare and sets @blames->failed. */
struct jp_blame *jp_blame(struct jp_blames *blames, const char *id, uint32_t pid,
			  const char *process, const char *file, uint64_t samples);
/* Adds an address range to @blame. Joins adjacent ranges and stores only the first few. */
void jp_blame_range(struct jp_blame *blame, uint64_t start, uint64_t end);
/* Adds evidence; only the first three lines are kept. */
void jp_blame_evidence(struct jp_blame *blame, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void jp_blame_remedy(struct jp_blame *blame, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Notes that the remedy of @blame restores the stacks of @samples that the cause @id breaks. */
void jp_blame_note_repair(struct jp_blame *blame, const char *id, uint64_t samples);
void jp_blames_free(struct jp_blames *blames);

/* One cause in all its places, the worst place first. */
struct jp_blamed {
	const struct jp_cause *cause;
	uint64_t samples, absent;
	uint64_t stacks, names;   /* parts of @samples: with a broken stack; without names */
	uint64_t seconds;         /* part of @stacks: another cause breaks them first */
	double share;             /* share of all samples, recorded or @absent */
	double rank;              /* @share without @seconds */
	struct jp_blame **places; /* part of the blames' list */
	size_t nr_places;
	const struct jp_cause *below; /* the cause that leads to this one; NULL: none */
};
/* Returns the causes, ordered by their rank among the file's @samples, highest first; free() the
 * list. Reorders @blames. Returns NULL if out of memory. */
struct jp_blamed *jp_blames_rank(struct jp_blames *blames, uint64_t samples, size_t *count);
