/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/procmaps/procmaps.h"
#include "harness/model/oracle/truth.h"

/*
 * The executable memory of each process over time, byte by byte, as the truth has it: what the acts
 * made of it, and what the marks (JP_EVENT_MAPS) tell besides: libraries, the program, the vDSO,
 * and what each mapping is called.
 */

/* What a mapping is; @line once a mark told it. */
struct jp_memory {
	const struct jp_procmap *line; /* NULL: no mark saw it */
	uint64_t shift;                /* where it was mapped, + shift: the offset in its file */
	uint64_t read;                 /* when the last mark was written that told @line */
	const struct jp_event *act;    /* the MAP that made it, NULL: none told of it */
};

/* One stretch of it, for as long as it had this protection. */
struct jp_executable {
	uint32_t pid;
	uint8_t prot;
	uint64_t start, end;
	uint64_t moved; /* so far from where it was mapped, modulo 2^64 */
	size_t memory;  /* index in memories */
	/* The brackets in which it came to be and ceased; UINT64_MAX: it did not. */
	uint64_t open_before, open_after, close_before, close_after;
	enum jp_event_type closed_by; /* JP_EVENT_MAPS: a mark found that it was gone */
};

/* A text of its own maps that a process wrote. */
struct jp_mark {
	uint32_t pid;
	uint64_t before, after;
};

struct jp_executables {
	struct jp_executable *list; /* by pid, then start */
	uint64_t *reach;            /* of list[i]: the largest end of the same pid up to it */
	size_t count, capacity, reach_capacity;
	struct jp_memory *memories;
	size_t nr_memories, memories_capacity;
	struct jp_mark *marks; /* by time */
	size_t nr_marks, marks_capacity;
	struct jp_procmap **texts; /* of each mark, which memories point to */
	size_t nr_texts, texts_capacity;
};

/* Once all stretches are in the list: what is asked below needs it. 0 or -ENOMEM. */
int jp_executables_index(struct jp_executables *all);
void jp_executables_free(struct jp_executables *all);
/* The stretches of @pid in [@start, @end), in the order of addresses: *@at is SIZE_MAX at first.
 * NULL: no more. */
const struct jp_executable *jp_executables_next(const struct jp_executables *all, uint32_t pid,
						uint64_t start, uint64_t end, size_t *at);
/* Whether it may have been there at any time of [@from, @to], by clocks that differ by @slack. */
static inline bool jp_executable_possibly(const struct jp_executable *one, uint64_t from,
					  uint64_t to, uint64_t slack)
{
	return one->open_before <= to + slack &&
	       (one->close_after == UINT64_MAX || from <= one->close_after + slack);
}
