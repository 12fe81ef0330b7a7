/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/model/oracle/executable.h"
#include "harness/model/space/processes.h"
#include "harness/model/space/ranges.h"

/* The memory of each process while executable_load.c replays the truth. */

/* Current memory of a process, with any protection. */
struct jp_memory_piece {
	uint64_t start, end;
	uint64_t distance, memory;
	uint64_t open_before, open_after;
	uint64_t prot;
};

struct jp_memory_space {
	struct jp_process process;
	struct jp_ranges *pieces;
	uint64_t born_before, born_after;
	uint64_t marked; /* time at which the last mark of the space was complete; 0: none yet */
};

struct jp_memory_replay {
	struct jp_executables *executables;
	const struct jp_truth *truth;
	struct jp_processes processes;
	struct jp_error *err;
	/* For marks, which are sorted by time: the acts that had not ended at the last mark, and
	 * @nr_seen, the number of acts examined. */
	const struct jp_event **running;
	size_t nr_running, running_capacity, nr_seen;
	/* For forks: indices of the ranges in all->list that a child may still inherit, and
	 * @nr_listed, the number of ranges examined. */
	size_t *recent;
	size_t nr_recent, recent_capacity, nr_listed;
};

/* Returns whether @act changes mappings. */
bool jp_memory_is_changed_by(const struct jp_event *act);
/* Adds @piece to all->list. @act ended it in [@before, @after]; NULL: it did not end. Returns 0 or
 * -ENOMEM, like all functions here that return int. */
int jp_memory_add(struct jp_memory_replay *replay, const struct jp_memory_space *space,
		  const struct jp_memory_piece *piece, const struct jp_event *act, uint64_t before,
		  uint64_t after);
/* Ends the executable memory of @space in [@start, @end) by @act, in [@before, @after]. */
int jp_memory_close(struct jp_memory_replay *replay, struct jp_memory_space *space, uint64_t start,
		    uint64_t end, const struct jp_event *act, uint64_t before, uint64_t after);
int jp_memory_put(struct jp_memory_space *space, const struct jp_memory_piece *piece);
/* Stores in @part the first piece of @space in [@start, @end), clipped to that range. Returns false
 * if there is none. */
bool jp_memory_next(const struct jp_memory_space *space, uint64_t start, uint64_t end,
		    struct jp_memory_piece *part);
/* Adds an entry to all->memories for a mapping that @act created (NULL: that only a mark shows).
 * Returns its index, or SIZE_MAX without memory. */
size_t jp_memory_new(struct jp_memory_replay *replay, const struct jp_event *act);
/* Applies @act to @space. @memory: index of the mapping in all->memories if @act is a MAP. Returns
 * 0, -EINVAL and a message, or -ENOMEM. */
int jp_memory_apply(struct jp_memory_replay *replay, struct jp_memory_space *space,
		    const struct jp_event *act, size_t memory);
