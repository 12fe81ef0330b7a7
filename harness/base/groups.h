/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Elements of an array by a number that several of them have, such as a process's: without looking
 * at those of others. All zero is an empty one.
 *
 *	for (size_t i = 0; jp_groups_next(&groups, pid, &i); i++)
 *		... array[i] ...
 */
struct jp_groups {
	uint64_t *pairs; /* number << 32 | index */
	size_t count, capacity;
};

/* Element @index has @number. 0 or -ENOMEM. */
int jp_groups_add(struct jp_groups *groups, uint32_t number, size_t index);
/* Once all were added, and before anything is asked. */
void jp_groups_sort(struct jp_groups *groups);
/* Leaves an empty one. */
void jp_groups_free(struct jp_groups *groups);
/* The least index of @number that is *@index or above, into *@index. False: there is none. */
bool jp_groups_next(const struct jp_groups *groups, uint32_t number, size_t *index);
