/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/trace/tally.h"

/* The answer to one question about what a JIT publishes. */
struct jp_cell {
	const char *name;     /* "map.late" */
	const char *question; /* what should never happen */
	uint64_t bad, of;     /* of 0: the question does not arise */
};

enum { JP_CELLS = 32 };

/* The cells of one program. Each of its runs adds some. */
struct jp_cells {
	struct jp_cell list[JP_CELLS];
	size_t count;
};

/* Adds the cells of a whole run. */
void jp_cells_add_run(struct jp_cells *cells, const struct jp_tally *tally);
/* Adds the cells of a run that ended by a signal: @map_name and @dump_name, about names that are
 * missing afterwards. @whole: a run that ended by itself, which shows whether there should be a
 * file. */
void jp_cells_add_killed(struct jp_cells *cells, const struct jp_tally *tally,
			 const struct jp_tally *whole, const char *map_name, const char *dump_name);
/* Returns the number of cells with bad > 0. */
size_t jp_cells_count_red(const struct jp_cells *cells);
