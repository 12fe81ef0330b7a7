// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/acts_at.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"

/* Stores the range that @act mapped or changed the protection of. Returns false for other acts. */
static bool get_changed_range(const struct jp_event *act, uint64_t *start, uint64_t *end)
{
	bool moved = act->type == JP_EVENT_REMAP;

	*start = moved ? act->map.to : act->map.addr;
	*end = *start + (moved ? act->map.to_len : act->map.len);
	return moved || act->type == JP_EVENT_MAP || act->type == JP_EVENT_PROTECT;
}

JP_ORDER(compare_by_place, struct jp_act_place,
	 jp_compare(a->pid, b->pid) ?: jp_compare(a->addr, b->addr));

JP_ORDER(compare_by_node, struct jp_act_cover,
	 jp_compare(a->node, b->node) ?: jp_compare(a->act, b->act));

JP_ORDER(compare_by_pid, struct jp_act_sharer,
	 jp_compare(a->pid, b->pid) ?: jp_compare(a->act, b->act));

static int find_places(struct jp_acts_at *at)
{
	size_t kept = 0;

	at->places = calloc(2 * at->nr_acts + 1, sizeof(*at->places));
	if (!at->places)
		return -ENOMEM;
	for (size_t i = 0; i < at->nr_acts; i++) {
		const struct jp_event *act = &at->acts[i];
		uint64_t start, end;

		if (get_changed_range(act, &start, &end)) {
			at->places[at->nr_places++] = (struct jp_act_place){act->pid, start};
			at->places[at->nr_places++] = (struct jp_act_place){act->pid, end};
		}
	}
	jp_sort(at->places, at->nr_places, compare_by_place);
	for (size_t i = 0; i < at->nr_places; i++)
		if (!kept || compare_by_place(&at->places[kept - 1], &at->places[i]))
			at->places[kept++] = at->places[i];
	at->nr_places = kept;
	return 0;
}

static size_t count_places_before(const struct jp_acts_at *at, uint32_t pid, uint64_t addr)
{
	const struct jp_act_place place = {pid, addr};
	size_t i;

	jp_search(i, at->nr_places, compare_by_place(&at->places[i], &place) < 0);
	return i;
}

static int add_stand(struct jp_acts_at *at, size_t node, size_t act)
{
	return jp_array_append(&at->covers, &at->nr_covers, &at->covers_capacity,
			       (struct jp_act_cover){node, act});
}

static int store_range_in_tree(struct jp_acts_at *at, size_t act)
{
	uint64_t start, end;
	size_t from, to;
	int failed = 0;

	if (!get_changed_range(&at->acts[act], &start, &end))
		return 0;
	from = at->nr_places + count_places_before(at, at->acts[act].pid, start);
	to = at->nr_places + count_places_before(at, at->acts[act].pid, end);
	for (; !failed && from < to; from /= 2, to /= 2) {
		if (from % 2)
			failed = add_stand(at, from++, act);
		if (!failed && to % 2)
			failed = add_stand(at, --to, act);
	}
	return failed;
}

static int add_sharing_process(struct jp_acts_at *at, uint32_t pid, uint32_t other, size_t act)
{
	return jp_array_append(&at->sharers, &at->nr_sharers, &at->sharers_capacity,
			       (struct jp_act_sharer){pid, other, act});
}

static int build_index(struct jp_acts_at *at)
{
	int failed = find_places(at);

	for (size_t i = 0; !failed && i < at->nr_acts; i++) {
		const struct jp_event *act = &at->acts[i];

		failed = store_range_in_tree(at, i);
		if (!failed && act->type == JP_EVENT_FORK && act->task.how == JP_HOW_SHARE)
			failed = add_sharing_process(at, act->pid, act->task.ppid, i)
					 ?: add_sharing_process(at, act->task.ppid, act->pid, i);
	}
	jp_sort(at->covers, at->nr_covers, compare_by_node);
	jp_sort(at->sharers, at->nr_sharers, compare_by_pid);
	return failed;
}

int jp_acts_at_index(struct jp_acts_at *at, const struct jp_event *acts, size_t count)
{
	*at = (struct jp_acts_at){.acts = acts, .nr_acts = count};
	return build_index(at);
}

void jp_acts_at_free(struct jp_acts_at *at)
{
	free(at->places);
	free(at->covers);
	free(at->sharers);
}

const struct jp_event *jp_acts_at_find_last(const struct jp_acts_at *at, uint32_t pid, uint64_t ip,
					    uint64_t time)
{
	const struct jp_act_place place = {pid, ip};
	const struct jp_event *last = NULL;
	size_t leaf;

	jp_search(leaf, at->nr_places, compare_by_place(&at->places[leaf], &place) <= 0);
	for (size_t node = leaf ? at->nr_places + leaf - 1 : 0; node; node /= 2) {
		const struct jp_act_cover *found;
		size_t i;

		jp_search(i, at->nr_covers,
			  at->covers[i].node < node ||
				  (at->covers[i].node == node &&
				   at->acts[at->covers[i].act].before <= time));
		found = i ? &at->covers[i - 1] : NULL;
		if (found && found->node == node && (!last || last < &at->acts[found->act]))
			last = &at->acts[found->act];
	}
	return last;
}

uint32_t jp_acts_at_find_sharer(const struct jp_acts_at *at, uint32_t pid, uint64_t ip,
				uint64_t time)
{
	size_t i;

	jp_search(i, at->nr_sharers, at->sharers[i].pid < pid);
	for (; i < at->nr_sharers && at->sharers[i].pid == pid; i++) {
		const struct jp_act_sharer *one = &at->sharers[i];

		if (at->acts[one->act].before <= time &&
		    jp_acts_at_find_last(at, one->other, ip, time))
			return one->other;
	}
	return 0;
}
