/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"
#include "harness/explain/blame.h"

/* Which losses of names samples have at once, so that a sample which one cause costs names in
 * several places counts once. A loss is its number and where its blame will be, which is NULL where
 * nobody is to blame. All zero to start with. */
struct jp_loss_sets {
	struct loss_set *list;
	size_t count, capacity;
	struct jp_map at; /* index + 1, by that of the set without its last loss, and that loss */
};

/* Loss @number, which is not in it, joins *@set, which is 0 where it is empty. 0 or -ENOMEM. */
int jp_loss_sets_add(struct jp_loss_sets *sets, size_t *set, uint32_t number,
		     struct jp_blame *const *blame);
/* A sample has just those of @set, which is not 0. */
void jp_loss_sets_count(struct jp_loss_sets *sets, size_t set);
/* All losses have their blames: tells these of the samples that they have in common. 0 or -ENOMEM.
 */
int jp_loss_sets_join(const struct jp_loss_sets *sets);
void jp_loss_sets_free(struct jp_loss_sets *sets);
