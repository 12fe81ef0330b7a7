/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

/*
 * Binary search as a statement: sets @i, a size_t variable, to the least of [0, @count) for which
 * the expression @before is false, or to @count. @before depends on @i; it must be true up to some
 * @i and false from there on. The first fact of `id` or above:
 *
 * jp_search(i, nr_facts, facts[i].id < id); if (i < nr_facts && facts[i].id == id) ...
 *
 * and the last range that starts at or below `addr`:
 *
 * jp_search(i, count, ranges[i].start <= addr); if (i && addr < ranges[i - 1].end) ...
 *
 */
#define jp_search(i, count, before)                                                                \
	for (size_t low_ = 0, high_ = (count); i = low_ + (high_ - low_) / 2, low_ < high_;)       \
	(before) ? (low_ = (i) + 1) : (high_ = (i))
