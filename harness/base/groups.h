/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Elements of an array, grouped by a number such as a process's, so that other groups need not be
 * searched. All zero is empty.
 *
 * 	for (size_t i = 0; jp_groups_next(&groups, pid, &i); i++)
 * 		... array[i] ...
 */
struct jp_groups {
	uint64_t *pairs; /* number << 32 | index */
	size_t count, capacity;
};

/* Adds element @index to group @number. Returns 0 or -ENOMEM. */
int jp_groups_add(struct jp_groups *groups, uint32_t number, size_t index);
/* Sorts the groups, after all additions and before any search. */
void jp_groups_sort(struct jp_groups *groups);
/* Frees all memory and leaves an empty set. */
void jp_groups_free(struct jp_groups *groups);
/* Stores in *@index the least index of @number from *@index on. Returns false if there is none. */
bool jp_groups_next(const struct jp_groups *groups, uint32_t number, size_t *index);
