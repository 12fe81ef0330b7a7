/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/procmaps/procmaps.h"
#include "harness/model/oracle/truth.h"

/* The executable memory of each process over time, from the truth: acts create and change it; marks
 * (JP_EVENT_MAPS: a process's own /proc/PID/maps) add libraries, the program, the vDSO and the
 * names of mappings. */

/* A mapping. */
struct jp_memory {
	const struct jp_procmap
		*line;  /* line of the mapping in a mark; NULL: no mark shows the mapping */
	uint64_t shift; /* file offset minus the address at which it was mapped */
	uint64_t read;  /* start of the last mark with @line */
	/* End of the last mapping of its file in that mark, if the line begins the file; else its
	 * own. The program loader maps the file up to there with the line's protection, and changes
	 * the rest afterwards. */
	uint64_t loaded_end;
	const struct jp_event
		*act; /* act that made the mapping; NULL: only marks show the mapping */
};

/* A range of executable memory, as long as it has one protection. */
struct jp_executable {
	uint32_t pid;
	uint8_t prot;
	uint64_t start, end;
	uint64_t moved; /* distance from where it was mapped, modulo 2^64 */
	size_t memory;  /* index in memories */
	/* Brackets of the start and the end of the range; UINT64_MAX: it did not end. */
	uint64_t open_before, open_after, close_before, close_after;
	enum jp_event_type closed_by; /* JP_EVENT_MAPS: the range ended because a mark lacks it */
};

/* The time at which a process wrote its own maps into the truth. */
struct jp_mark {
	uint32_t pid;
	uint64_t before, after;
};

struct jp_executables {
	struct jp_executable *list; /* by pid, then start */
	uint64_t *reach;            /* for list[i]: the largest end in list[..i] of the same pid */
	size_t count, capacity, reach_capacity;
	struct jp_memory *memories;
	size_t nr_memories, memories_capacity;
	struct jp_mark *marks; /* by time */
	size_t nr_marks, marks_capacity;
	struct jp_procmap **texts; /* parsed lines of each mark, to which memories point */
	size_t nr_texts, texts_capacity;
};

/* Sorts and indexes the list for the functions below. Returns 0 or -ENOMEM. */
int jp_executables_index(struct jp_executables *all);
void jp_executables_free(struct jp_executables *all);
/* Returns the next range of @pid that overlaps [@start, @end), by address, or NULL. *@at starts as
 * SIZE_MAX. */
const struct jp_executable *jp_executables_next(const struct jp_executables *all, uint32_t pid,
						uint64_t start, uint64_t end, size_t *at);
/* Returns whether the program loader mapped a file from @start up to @end or further, as a whole,
 * and @one is the file's first segment. */
static inline bool jp_executable_is_loaded(const struct jp_executables *all,
					   const struct jp_executable *one, uint64_t start,
					   uint64_t end)
{
	const struct jp_memory *memory = &all->memories[one->memory];

	return one->start == start && !memory->act && memory->loaded_end >= end;
}
/* Returns whether @one may have existed at any time of [@from, @to], in ns, for clocks that differ
 * by up to @slack. */
static inline bool jp_executable_possibly(const struct jp_executable *one, uint64_t from,
					  uint64_t to, uint64_t slack)
{
	return one->open_before <= to + slack &&
	       (one->close_after == UINT64_MAX || from <= one->close_after + slack);
}
