/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"
#include "harness/explain/blame.h"

/* Sets of losses of names that samples have at once, so that a sample which one cause affects in
 * several places counts once. A loss is a number and the place of its later blame, NULL if nothing
 * is to blame. Starts as all zero. */
struct jp_loss_sets {
	struct loss_set *list;
	size_t count, capacity;
	struct jp_map at; /* index + 1, by the set without its last loss, and that loss */
};

/* Adds the new loss @number to *@set; 0 is the empty set. Returns 0 or -ENOMEM. */
int jp_loss_sets_add(struct jp_loss_sets *sets, size_t *set, uint32_t number,
		     struct jp_blame *const *blame);
/* Counts a sample with exactly the losses of @set, which is not 0. */
void jp_loss_sets_count(struct jp_loss_sets *sets, size_t set);
/* Informs the blames of the samples that they share, when all losses have blames. Returns 0 or
 * -ENOMEM. */
int jp_loss_sets_join(const struct jp_loss_sets *sets);
void jp_loss_sets_free(struct jp_loss_sets *sets);
