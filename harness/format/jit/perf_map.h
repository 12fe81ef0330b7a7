/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/* A perf map (/tmp/perf-PID.map): lines "START SIZE NAME", hexadecimal without 0x, without times.
 * Overlapping lines stay in file order; docs/names.md documents which of them perf chooses. */
struct jp_perf_map;
/* Reads the @size bytes of @fd, which messages call @name. Skips and counts malformed lines as perf
 * does. Returns NULL and a message on errors. */
struct jp_perf_map *jp_perf_map_read(int fd, const char *name, uint64_t size, struct jp_error *err);
void jp_perf_map_free(struct jp_perf_map *map);
/* Returns the name that perf gives to @addr, or NULL. */
const char *jp_perf_map_find(const struct jp_perf_map *map, uint64_t addr);
/* Returns whether any line contains @addr, even if perf does not find it. */
bool jp_perf_map_covers(const struct jp_perf_map *map, uint64_t addr);
/* Returns whether lines with different names contain @addr. The map has no times that could decide
 * between them. */
bool jp_perf_map_is_ambiguous(const struct jp_perf_map *map, uint64_t addr);
/* Returns the number of lines that start in [@start, @end). */
size_t jp_perf_map_count_lines(const struct jp_perf_map *map, uint64_t start, uint64_t end);
/* Calls @visit with each line, in file order. */
void jp_perf_map_visit_lines(const struct jp_perf_map *map,
			     void (*visit)(void *context, uint64_t start, uint64_t size,
					   const char *name),
			     void *context);
/* Returns the number of malformed lines. */
uint64_t jp_perf_map_bad_lines(const struct jp_perf_map *map);
