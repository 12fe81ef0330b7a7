// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/loss_sets.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"

/* A set consists of its last loss and the set without it. */
struct loss_set {
	size_t rest;                   /* index + 1 of the set without the last loss; 0: none */
	struct jp_blame *const *blame; /* pointer to the blame of the last loss */
	uint64_t samples;
};

/* Limit of the number of sets: chains can contain losses in very many combinations. Beyond the
 * limit, samples are counted with existing sets, so in several places more than once. */
enum { MOST_SETS = 1 << 20 };

int jp_loss_sets_add(struct jp_loss_sets *sets, size_t *set, uint32_t number,
		     struct jp_blame *const *blame)
{
	const uint64_t key = (uint64_t)*set << 32 | number;
	size_t *at = sets->count < MOST_SETS ? jp_map_at(&sets->at, key, sizeof(*at))
					     : jp_map_find(&sets->at, key);

	if (!at)
		return sets->count < MOST_SETS ? -ENOMEM : 0;
	if (!*at) {
		if (jp_array_append(&sets->list, &sets->count, &sets->capacity,
				    (struct loss_set){.rest = *set, .blame = blame}))
			return -ENOMEM;
		*at = sets->count;
	}
	*set = *at;
	return 0;
}

void jp_loss_sets_count(struct jp_loss_sets *sets, size_t set)
{
	sets->list[set - 1].samples++;
}

/* Returns whether @what was found in @set before, or -ENOMEM. */
static int mark_found_in_set(struct jp_map *met, const void *what, size_t set)
{
	size_t *last = jp_map_at(met, (uintptr_t)what, sizeof(*last));
	const bool again = last && *last == set;

	if (last)
		*last = set;
	return last ? again : -ENOMEM;
}

/* Corrects the blames of the losses that a set of samples has in common. Samples of two losses with
 * one blame were counted twice; those of two blames of one cause are noted in blame->again. */
static int join_set(const struct jp_loss_sets *sets, size_t set, struct jp_map *met)
{
	const uint64_t samples = sets->list[set - 1].samples;

	for (size_t at = set; at; at = sets->list[at - 1].rest) {
		struct jp_blame *blame = *sets->list[at - 1].blame;
		const int place = blame ? mark_found_in_set(met, blame, set) : 0,
			  cause = blame ? mark_found_in_set(met, blame->cause, set) : 0;

		if (place < 0 || cause < 0)
			return -ENOMEM;
		if (place)
			blame->samples -= samples;
		else if (cause)
			blame->again += samples;
	}
	return 0;
}

int jp_loss_sets_join(const struct jp_loss_sets *sets)
{
	struct jp_map met = {0}; /* by address of a blame or cause: the last set that has it */
	int ret = 0;

	for (size_t set = 1; set <= sets->count && !ret; set++)
		if (sets->list[set - 1].samples)
			ret = join_set(sets, set, &met);
	jp_map_free(&met);
	return ret;
}

void jp_loss_sets_free(struct jp_loss_sets *sets)
{
	free(sets->list);
	jp_map_free(&sets->at);
	*sets = (struct jp_loss_sets){0};
}
