/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An index of an array whose elements are grouped by a number such as a pid, for visiting one group
 * without reading the others. All zero is empty.
 *
 * 	for (size_t i = 0; jp_groups_next(&groups, pid, &i); i++)
 * 		... array[i] ...
 *
 */
struct jp_groups {
	uint64_t *pairs; /* for each element group << 32 | index; sorted by jp_groups_sort() */
	size_t count, capacity;
};

/* Adds the array element @index to group @number. Returns 0 or -ENOMEM. */
int jp_groups_add(struct jp_groups *groups, uint32_t number, size_t index);
/* Sorts the groups. Call this after the last jp_groups_add() and before jp_groups_next(). */
void jp_groups_sort(struct jp_groups *groups);
/* Frees all memory and leaves an empty set. */
void jp_groups_free(struct jp_groups *groups);
/* Stores in *@index the least index of group @number that is not below *@index. Returns false if
 * the group has no such index. */
bool jp_groups_next(const struct jp_groups *groups, uint32_t number, size_t *index);
