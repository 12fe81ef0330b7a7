/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/*
 * A perf map (/tmp/perf-PID.map): lines "START SIZE NAME", hex without 0x, no times. Overlapping
 * lines are kept in file order; which of them perf gives is written in docs/names.md.
 */
struct jp_perf_map;
/* Reads the @size bytes of @fd, which messages call @name. NULL and a message. Lines that are none
 * are passed over, as by perf, and counted. */
struct jp_perf_map *jp_perf_map_read(int fd, const char *name, uint64_t size, struct jp_error *err);
void jp_perf_map_free(struct jp_perf_map *map);
/* The name that perf gives to @addr, or NULL. */
const char *jp_perf_map_find(const struct jp_perf_map *map, uint64_t addr);
/* Whether any line holds @addr, found by perf or not. */
bool jp_perf_map_covers(const struct jp_perf_map *map, uint64_t addr);
/* Whether lines of several names hold @addr: at different times, which the map does not tell. */
bool jp_perf_map_ambiguous(const struct jp_perf_map *map, uint64_t addr);
/* How many lines start in [@start, @end). */
size_t jp_perf_map_lines(const struct jp_perf_map *map, uint64_t start, uint64_t end);
/* Calls @visit with each line, in file order. */
void jp_perf_map_each(const struct jp_perf_map *map,
		      void (*visit)(void *context, uint64_t start, uint64_t size, const char *name),
		      void *context);
uint64_t jp_perf_map_bad_lines(const struct jp_perf_map *map);
