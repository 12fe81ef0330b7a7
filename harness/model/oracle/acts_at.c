// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/acts_at.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"

static int add_act(struct jp_acts_of *acts, const struct jp_event *act, size_t index)
{
	int failed = jp_groups_add(&acts->processes, act->pid, index);

	if (!failed && (jp_event_starts_process(act) || act->type == JP_EVENT_END))
		failed = jp_groups_add(&acts->lifecycle, act->pid, index);
	if (!failed && act->type == JP_EVENT_FORK)
		failed = jp_groups_add(&acts->threads, act->tid, index);
	return failed;
}

int jp_acts_of_index(struct jp_acts_of *of, const struct jp_event *acts, size_t count)
{
	int failed = 0;

	for (size_t i = 0; !failed && i < count; i++)
		failed = add_act(of, &acts[i], i);
	jp_groups_sort(&of->processes);
	jp_groups_sort(&of->lifecycle);
	jp_groups_sort(&of->threads);
	return failed;
}

void jp_acts_of_free(struct jp_acts_of *acts)
{
	jp_groups_free(&acts->processes);
	jp_groups_free(&acts->lifecycle);
	jp_groups_free(&acts->threads);
}

/* Stores the range that @act mapped or changed the protection of. Returns false for other acts. */
static bool get_changed_range(const struct jp_event *act, uint64_t *start, uint64_t *end)
{
	bool moved = act->type == JP_EVENT_REMAP;

	*start = moved ? act->map.new_addr : act->map.addr;
	*end = *start + (moved ? act->map.new_len : act->map.len);
	return moved || act->type == JP_EVENT_MAP || act->type == JP_EVENT_PROTECT;
}

JP_ORDER(compare_by_place, struct jp_act_place,
	 jp_compare(a->pid, b->pid) ?: jp_compare(a->addr, b->addr));

JP_ORDER(compare_by_node, struct jp_act_cover,
	 jp_compare(a->node, b->node) ?: jp_compare(a->act, b->act));

JP_ORDER(compare_by_pid, struct jp_act_sharer,
	 jp_compare(a->pid, b->pid) ?: jp_compare(a->act, b->act));

static int find_places(struct jp_acts_at *index)
{
	size_t nr_kept = 0;

	index->places = calloc(2 * index->nr_acts + 1, sizeof(*index->places));
	if (!index->places)
		return -ENOMEM;
	for (size_t i = 0; i < index->nr_acts; i++) {
		const struct jp_event *act = &index->acts[i];
		uint64_t start, end;

		if (get_changed_range(act, &start, &end)) {
			index->places[index->nr_places++] = (struct jp_act_place){act->pid, start};
			index->places[index->nr_places++] = (struct jp_act_place){act->pid, end};
		}
	}
	jp_sort(index->places, index->nr_places, compare_by_place);
	for (size_t i = 0; i < index->nr_places; i++)
		if (!nr_kept || compare_by_place(&index->places[nr_kept - 1], &index->places[i]))
			index->places[nr_kept++] = index->places[i];
	index->nr_places = nr_kept;
	return 0;
}

static size_t count_places_before(const struct jp_acts_at *index, uint32_t pid, uint64_t addr)
{
	const struct jp_act_place place = {pid, addr};
	size_t i;

	jp_search(i, index->nr_places, compare_by_place(&index->places[i], &place) < 0);
	return i;
}

static int add_stand(struct jp_acts_at *index, size_t node, size_t act)
{
	return jp_array_append(&index->covers, &index->nr_covers, &index->covers_capacity,
			       (struct jp_act_cover){node, act});
}

static int store_range_in_tree(struct jp_acts_at *index, size_t act)
{
	uint64_t start, end;
	size_t from, to;
	int failed = 0;

	if (!get_changed_range(&index->acts[act], &start, &end))
		return 0;
	from = index->nr_places + count_places_before(index, index->acts[act].pid, start);
	to = index->nr_places + count_places_before(index, index->acts[act].pid, end);
	for (; !failed && from < to; from /= 2, to /= 2) {
		if (from % 2)
			failed = add_stand(index, from++, act);
		if (!failed && to % 2)
			failed = add_stand(index, --to, act);
	}
	return failed;
}

static int add_sharing_process(struct jp_acts_at *index, uint32_t pid, uint32_t sharer_pid,
			       size_t act)
{
	return jp_array_append(&index->sharers, &index->nr_sharers, &index->sharers_capacity,
			       (struct jp_act_sharer){pid, sharer_pid, act});
}

static int build_index(struct jp_acts_at *index)
{
	int failed = find_places(index);

	for (size_t i = 0; !failed && i < index->nr_acts; i++) {
		const struct jp_event *act = &index->acts[i];

		failed = store_range_in_tree(index, i);
		if (!failed && act->type == JP_EVENT_FORK && act->task.start_kind == JP_START_SHARE)
			failed = add_sharing_process(index, act->pid, act->task.ppid, i)
					 ?: add_sharing_process(index, act->task.ppid, act->pid, i);
	}
	jp_sort(index->covers, index->nr_covers, compare_by_node);
	jp_sort(index->sharers, index->nr_sharers, compare_by_pid);
	return failed;
}

int jp_acts_at_index(struct jp_acts_at *index, const struct jp_event *acts, size_t count)
{
	*index = (struct jp_acts_at){.acts = acts, .nr_acts = count};
	return build_index(index);
}

void jp_acts_at_free(struct jp_acts_at *index)
{
	free(index->places);
	free(index->covers);
	free(index->sharers);
}

const struct jp_event *jp_acts_at_find_last(const struct jp_acts_at *index, uint32_t pid,
					    uint64_t ip, uint64_t time)
{
	const struct jp_act_place place = {pid, ip};
	const struct jp_event *last = NULL;
	size_t leaf;

	jp_search(leaf, index->nr_places, compare_by_place(&index->places[leaf], &place) <= 0);
	for (size_t node = leaf ? index->nr_places + leaf - 1 : 0; node; node /= 2) {
		const struct jp_act_cover *cover;
		size_t i;

		jp_search(i, index->nr_covers,
			  index->covers[i].node < node ||
				  (index->covers[i].node == node &&
				   index->acts[index->covers[i].act].before <= time));
		cover = i ? &index->covers[i - 1] : NULL;
		if (cover && cover->node == node && (!last || last < &index->acts[cover->act]))
			last = &index->acts[cover->act];
	}
	return last;
}

uint32_t jp_acts_at_find_sharer(const struct jp_acts_at *index, uint32_t pid, uint64_t ip,
				uint64_t time)
{
	size_t i;

	jp_search(i, index->nr_sharers, index->sharers[i].pid < pid);
	for (; i < index->nr_sharers && index->sharers[i].pid == pid; i++) {
		const struct jp_act_sharer *sharer = &index->sharers[i];

		if (index->acts[sharer->act].before <= time &&
		    jp_acts_at_find_last(index, sharer->sharer, ip, time))
			return sharer->sharer;
	}
	return 0;
}
