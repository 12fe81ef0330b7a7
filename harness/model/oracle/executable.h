/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/procmaps/procmaps.h"
#include "harness/model/oracle/truth.h"

/* The executable memory of each process over time, according to the truth. Acts (JP_EVENT_MAP and
 * so on) create and change it. Marks (JP_EVENT_MAPS: the process's own /proc/PID/maps at one
 * moment) add libraries, the program, the vDSO and the names of mappings. */

/* A mapping, which may be split into several ranges later. */
struct jp_memory {
	const struct jp_procmap
		*line;  /* line of the mapping in a mark; NULL: no mark shows the mapping */
	uint64_t shift; /* file offset minus the address at which the file was mapped */
	uint64_t read;  /* time at which the process began to read the last mark that contains @line
			 */
	/* If @line begins a file: end of the last mapping of that file in the mark, else of this
	 * mapping. The program loader maps the file up to there with the protection of @line, and
	 * changes the rest afterwards. */
	uint64_t loaded_end;
	const struct jp_event
		*act; /* act that made the mapping; NULL: only marks show the mapping */
};

/* A range of executable memory during the time in which it has one protection. */
struct jp_executable {
	uint32_t pid;
	uint8_t prot;
	uint64_t start, end;
	uint64_t distance; /* distance that mremap() moved it, modulo 2^64 */
	size_t memory;     /* index in jp_executables.memories */
	/* The range began in [open_before, open_after] and ended in [close_before, close_after];
	 * UINT64_MAX: it did not end. */
	uint64_t open_before, open_after, close_before, close_after;
	enum jp_event_type closed_by; /* type of the act that ended it; JP_EVENT_MAPS: a mark no
					 longer contains it */
};

/* The time at which a process wrote its own maps into the truth. */
struct jp_mark {
	uint32_t pid;
	uint64_t before, after;
};

struct jp_executables {
	struct jp_executable *list; /* sorted by pid, then start */
	uint64_t *reach; /* reach[i] is the largest end address of list[0..i] of the same pid */
	size_t count, capacity, reach_capacity;
	struct jp_memory *memories;
	size_t nr_memories, memories_capacity;
	struct jp_mark *marks; /* sorted by time */
	size_t nr_marks, marks_capacity;
	struct jp_procmap **texts; /* parsed lines of each mark, to which memories[].line points */
	size_t nr_texts, texts_capacity;
};

/* Sorts and indexes the list for the functions below. Returns 0 or -ENOMEM. */
int jp_executables_index(struct jp_executables *executables);
void jp_executables_free(struct jp_executables *executables);
/* Returns the next range of @pid that overlaps [@start, @end), in the order of addresses, or NULL.
 * *@cursor starts as SIZE_MAX. */
const struct jp_executable *jp_executables_next(const struct jp_executables *executables,
						uint32_t pid, uint64_t start, uint64_t end,
						size_t *cursor);
/* Returns whether @executable is the first segment of a file that begins at @start and that the
 * program loader first mapped as a whole, up to @end or further. */
static inline bool jp_executable_is_loaded(const struct jp_executables *executables,
					   const struct jp_executable *executable, uint64_t start,
					   uint64_t end)
{
	const struct jp_memory *memory = &executables->memories[executable->memory];

	return executable->start == start && !memory->act && memory->loaded_end >= end;
}
/* Returns whether @executable may have existed at some time of [@from, @to], in ns, if the clocks
 * differ by up to @slack. */
static inline bool jp_executable_may_exist(const struct jp_executable *executable, uint64_t from,
					   uint64_t to, uint64_t slack)
{
	return executable->open_before <= to + slack &&
	       (executable->close_after == UINT64_MAX || from <= executable->close_after + slack);
}
