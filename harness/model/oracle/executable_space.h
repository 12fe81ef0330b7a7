/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/model/oracle/executable.h"
#include "harness/model/space/processes.h"
#include "harness/model/space/ranges.h"

/* The memory of each process while executable_load.c and executable_marks.c replay the truth. */

/* Current memory of a process, with any protection. */
struct jp_memory_piece {
	uint64_t start, end;
	uint64_t moved, memory;
	uint64_t open_before, open_after;
	uint64_t prot;
};

struct jp_memory_space {
	struct jp_process process;
	struct jp_ranges *pieces;
	uint64_t born_before, born_after;
	uint64_t marked; /* end of the space's last mark; 0: none yet */
};

struct jp_memory_replay {
	struct jp_executables *all;
	const struct jp_truth *truth;
	struct jp_processes processes;
	struct jp_error *err;
	/* For marks, which are sorted by time: acts that had not ended at the last mark, and the
	 * number of acts examined. */
	const struct jp_event **running;
	size_t nr_running, running_capacity, nr_seen;
	/* For forks: indices of ranges in all->list that may still be inherited, and the number of
	 * ranges examined. */
	size_t *recent;
	size_t nr_recent, recent_capacity, nr_listed;
};

/* Returns whether @act changes mappings. */
bool jp_memory_acted(const struct jp_event *act);
/* Adds @piece to the list of executable ranges, ended by @act (NULL: not ended) in [@before,
 * @after]. Returns 0 or -ENOMEM, like all functions here. */
int jp_memory_add(struct jp_memory_replay *replay, const struct jp_memory_space *space,
		  const struct jp_memory_piece *piece, const struct jp_event *act, uint64_t before,
		  uint64_t after);
/* Ends all executable memory of @space in [@start, @end) in the same way. */
int jp_memory_close(struct jp_memory_replay *replay, struct jp_memory_space *space, uint64_t start,
		    uint64_t end, const struct jp_event *act, uint64_t before, uint64_t after);
int jp_memory_put(struct jp_memory_space *space, const struct jp_memory_piece *piece);
/* Stores in @part the first piece of @space in [@start, @end), clipped to that range. Returns false
 * if there is none. */
bool jp_memory_next(const struct jp_memory_space *space, uint64_t start, uint64_t end,
		    struct jp_memory_piece *part);
/* Returns the index of a new memory created by @act (NULL: by a mark), or SIZE_MAX: no memory. */
size_t jp_memory_new(struct jp_memory_replay *replay, const struct jp_event *act);
/* Applies @act to @space; @memory: index of a MAP's memory. Returns 0, -EINVAL and a message, or
 * -ENOMEM. */
int jp_memory_apply(struct jp_memory_replay *replay, struct jp_memory_space *space,
		    const struct jp_event *act, size_t memory);
