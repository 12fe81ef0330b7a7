// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/jit/jit_layout.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "harness/base/sort.h"

enum {
	TEXT = 0x1000,    /* offset of the code in a file, after the headers */
	ALONE = 0x40,     /* offset in a file with a single function, after the ELF header */
	PAGE = 0x1000,    /* address and offset are equal modulo this, as in a real mapping */
	ALIGN = 16,       /* alignment of packed functions */
	GAP = 1 << 14,    /* largest gap within a file, bytes */
	GENERATIONS = 64, /* number of files to which functions can be appended at the same time */
	FILES = 4096,     /* largest number of files, not counting the packed one */
	PACK_MOST = 1 << 30 /* bytes in a file, at most: its tables have 32-bit distances */
};

/* A file to which functions can still be appended. It holds the code of [start, end) so far. */
struct generation {
	uint64_t start, end;
	uint32_t file;
};

/* Of functions at equal addresses, the jitdump's order decides. */
JP_ORDER(compare_by_addr, struct jp_jit_function *,
	 jp_compare((*a)->addr, (*b)->addr) ?: jp_compare(*a, *b));

/* Returns the file (generation) whose code ends closest below @function and has room for it, or
 * NULL. */
static struct generation *find_generation(struct generation *generations, unsigned int count,
					  const struct jp_jit_function *function)
{
	struct generation *oldest_generation = NULL;

	for (unsigned int i = 0; i < count; i++)
		if (generations[i].end <= function->addr &&
		    function->addr - generations[i].end <= GAP &&
		    function->addr + function->size - generations[i].start <= PACK_MOST &&
		    (!oldest_generation || generations[i].end > oldest_generation->end))
			oldest_generation = &generations[i];
	return oldest_generation;
}

/* Returns an unused generation, or else the one with the lowest end, to be replaced. Returns NULL
 * if that end is not more than GAP below @addr: then code from @addr on may still extend any
 * generation. */
static struct generation *start_generation(struct generation *generations, unsigned int *count,
					   uint64_t addr)
{
	struct generation *oldest = &generations[0];

	if (*count < GENERATIONS)
		return &generations[(*count)++];
	for (unsigned int i = 1; i < GENERATIONS; i++)
		if (generations[i].end < oldest->end)
			oldest = &generations[i];
	return oldest->end <= addr && addr - oldest->end > GAP ? oldest : NULL;
}

/* Assigns files in the order of addresses. Functions that get no file keep offset 0. Returns the
 * number of files. */
static uint32_t assign_files(struct jp_jit_function **sorted, size_t count)
{
	struct generation generations[GENERATIONS], *generation;
	unsigned int growing = 0;
	uint32_t files = 0;

	for (size_t i = 0; i < count; i++) {
		struct jp_jit_function *function = sorted[i];

		if (function->tables && files < FILES) {
			function->file = files++;
			function->offset = ALONE;
			continue;
		}
		generation = find_generation(generations, growing, function);
		if (!generation && files < FILES && function->size < PACK_MOST) {
			generation = start_generation(generations, &growing, function->addr);
			if (generation)
				*generation = (struct generation){function->addr, function->addr,
								  files++};
		}
		if (!generation)
			continue;
		function->file = generation->file;
		function->offset =
			TEXT + generation->start % PAGE + (function->addr - generation->start);
		generation->end = function->addr + function->size;
	}
	return files;
}

int jp_jit_layout(struct jp_jit_function *functions, size_t count)
{
	struct jp_jit_function **sorted = malloc((count ?: 1) * sizeof(*sorted));
	uint64_t packed = PACK_MOST;
	bool in_order = true;
	uint32_t files;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		functions[i].offset = 0;
		sorted[i] = &functions[i];
		in_order &= !i || compare_by_addr(&sorted[i - 1], &sorted[i]) <= 0;
	}
	if (!in_order)
		jp_sort(sorted, count, compare_by_addr);
	files = assign_files(sorted, count);
	free(sorted);
	for (size_t i = 0; i < count; i++) {
		if (functions[i].offset)
			continue;
		if (packed > PACK_MOST || functions[i].size > PACK_MOST - packed) {
			files++;
			packed = TEXT;
		}
		functions[i].file = files - 1;
		functions[i].offset = packed;
		packed = (packed + functions[i].size + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
	}
	return (int)files;
}
