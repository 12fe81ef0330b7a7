/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"
#include "harness/explain/blame.h"

/* A sample can lose names in several ways at once. This counts the samples of each set of such
 * losses, so that a cause which affects a sample in several places counts it once. A loss is a
 * number and a pointer to its blame, which is set later (NULL: no blame). Starts as all zero. */
struct jp_loss_sets {
	struct loss_set *list;
	size_t count, capacity;
	struct jp_map at; /* index + 1 of a set, by the set without its last loss and by that loss
			   */
};

/* Adds the new loss @number to *@set; 0 is the empty set. Returns 0 or -ENOMEM. */
int jp_loss_sets_add(struct jp_loss_sets *sets, size_t *set, uint32_t number,
		     struct jp_blame *const *blame);
/* Counts a sample that has all losses of @set, and no other. @set must not be 0. */
void jp_loss_sets_count(struct jp_loss_sets *sets, size_t set);
/* Stores in each blame the number of samples that other blames affect, too. Call this when all
 * losses have blames. Returns 0 or -ENOMEM. */
int jp_loss_sets_join(const struct jp_loss_sets *sets);
void jp_loss_sets_free(struct jp_loss_sets *sets);
