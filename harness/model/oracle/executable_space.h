/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/model/oracle/executable.h"
#include "harness/model/space/processes.h"
#include "harness/model/space/ranges.h"

/* The memory of each process while the truth is replayed: for executable_load.c and
 * executable_marks.c. */

/* The kernel maps and unmaps whole ones, whatever it was asked for. */
enum { JP_MEMORY_PAGE = 4096 };

/* Memory of any protection that a process has now. */
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
	uint64_t marked; /* the end of its last mark; 0: it had none yet */
};

struct jp_memory_replay {
	struct jp_executables *all;
	const struct jp_truth *truth;
	struct jp_processes processes;
	struct jp_error *err;
	/* For the marks, which come by time: acts that the last one found not over yet, and the
	 * number of those looked at. */
	const struct jp_event **running;
	size_t nr_running, running_capacity, nr_seen;
	/* For the forks, the same: indices of all->list, and how many of it were looked at. */
	size_t *recent;
	size_t nr_recent, recent_capacity, nr_listed;
};

/* Whether @act changes mappings. */
bool jp_memory_acted(const struct jp_event *act);
/* [@piece->start, @piece->end) was executable, and is no more since @act, or as @act found: from
 * some time in [@before, @after] on. 0 or -ENOMEM, like all here. */
int jp_memory_add(struct jp_memory_replay *replay, const struct jp_memory_space *space,
		  const struct jp_memory_piece *piece, const struct jp_event *act, uint64_t before,
		  uint64_t after);
/* The same of all that @space has in [@start, @end). */
int jp_memory_close(struct jp_memory_replay *replay, struct jp_memory_space *space, uint64_t start,
		    uint64_t end, const struct jp_event *act, uint64_t before, uint64_t after);
int jp_memory_put(struct jp_memory_space *space, const struct jp_memory_piece *piece);
/* The part of the next piece of @space that lies in [@start, @end); false: there is none. */
bool jp_memory_next(const struct jp_memory_space *space, uint64_t start, uint64_t end,
		    struct jp_memory_piece *part);
/* Its index; @act NULL: a mark told of it. SIZE_MAX: no memory. */
size_t jp_memory_new(struct jp_memory_replay *replay, const struct jp_event *act);
/* @act happens to @space; @memory: that of a MAP. 0; -EINVAL and a message; or -ENOMEM. */
int jp_memory_apply(struct jp_memory_replay *replay, struct jp_memory_space *space,
		    const struct jp_event *act, size_t memory);
