/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/trace/tally.h"

/* The answer to one question about what a JIT publishes: a cell of the table that `jitproof trial`
 * prints. */
struct jp_cell {
	const char *name;     /* name of the cell, such as "map.late" */
	const char *question; /* text that describes the defect */
	/* @nr_bad: number of bad cases; @nr_total: number of examined cases, which may be 0. */
	uint64_t nr_bad, nr_total;
};

enum { JP_CELLS = 32 };

/* The cells of one program, which is run several times. Each run adds some cells. */
struct jp_cells {
	struct jp_cell list[JP_CELLS];
	size_t count;
};

/* Adds the cells of a run in which the program ended by itself, by the counts @tally. @total:
 * counts of all runs, for the cells that do not depend on how the program ended. */
void jp_cells_add_run(struct jp_cells *cells, const struct jp_tally *tally,
		      const struct jp_tally *total);
/* Adds the cells of a run that a signal ended, about names that are missing afterwards: @map_name
 * for the perf map and @dump_name for the jitdump. @whole: counts of a run that ended by itself,
 * which show whether the program writes such a file. */
void jp_cells_add_killed(struct jp_cells *cells, const struct jp_tally *tally,
			 const struct jp_tally *whole, const char *map_name, const char *dump_name);
/* Returns the number of cells with bad > 0. */
size_t jp_cells_count_red(const struct jp_cells *cells);
