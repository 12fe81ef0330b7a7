// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/truth/collect.h"

#include <errno.h>
#include <stdlib.h>

static int by_place(const void *a, const void *b)
{
	const struct jp_truth_code *one = &(*(struct jp_truth_live_code *const *)a)->code;
	const struct jp_truth_code *other = &(*(struct jp_truth_live_code *const *)b)->code;

	if (one->pid != other->pid)
		return one->pid < other->pid ? -1 : 1;
	if (one->addr != other->addr)
		return one->addr < other->addr ? -1 : 1;
	return one->loaded < other->loaded ? -1 : one->loaded > other->loaded;
}

/* Sorts the codes and turns the versions' indices into pointers to them. */
static int build_codes(struct jp_truth_collector *replay)
{
	struct jp_truth *truth = replay->truth;
	size_t count = replay->nr_codes;
	struct jp_truth_live_code **order = calloc(count + 1, sizeof(*order));
	uint32_t *sorted = calloc(count + 1, sizeof(*sorted));
	uint64_t reach = 0;
	int ret = -ENOMEM;

	truth->codes = calloc(count + 1, sizeof(*truth->codes));
	truth->tables->code_reach = calloc(count + 1, sizeof(uint64_t));
	truth->paths = calloc(replay->nr_versions + 1, sizeof(*truth->paths));
	if (!order || !sorted || !truth->codes || !truth->tables->code_reach || !truth->paths)
		goto out;
	for (size_t i = 0; i < count; i++)
		order[i] = &replay->codes[i];
	qsort(order, count, sizeof(*order), by_place);
	for (size_t i = 0; i < count; i++) {
		const struct jp_truth_code *code = &order[i]->code;

		truth->codes[i] = *code;
		sorted[order[i] - replay->codes] = i;
		if (!i || code->pid != truth->codes[i - 1].pid)
			reach = 0;
		if (reach < code->addr + code->size)
			reach = code->addr + code->size;
		truth->tables->code_reach[i] = reach;
	}
	truth->nr_codes = count;
	for (size_t i = 0; i < replay->nr_versions; i++) {
		const struct jp_truth_version *version = &replay->versions[i];
		struct jp_truth_path *path = &truth->paths[i];

		path->id = version->id;
		path->depth = version->depth;
		path->functions = jp_truth_alloc(truth, version->depth, sizeof(*path->functions));
		if (!path->functions)
			goto out;
		for (uint32_t d = 0; d < version->depth; d++)
			path->functions[d] = &truth->codes[sorted[version->codes[d]]];
	}
	truth->nr_paths = replay->nr_versions;
	ret = 0;
out:
	free(order);
	free(sorted);
	return ret;
}

static int by_pid(const void *a, const void *b)
{
	const struct jp_truth_ending *one = a, *other = b;

	if (one->pid != other->pid)
		return one->pid < other->pid ? -1 : 1;
	return one->before < other->before ? -1 : one->before > other->before;
}

/* When the first end of @pid from @time on was over; UINT64_MAX: none. */
static uint64_t end_after(const struct jp_truth_collector *replay, uint32_t pid, uint64_t time)
{
	size_t low = 0, high = replay->nr_ends;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct jp_truth_ending *end = &replay->ends[middle];

		if (end->pid < pid || (end->pid == pid && end->before < time))
			low = middle + 1;
		else
			high = middle;
	}
	return low < replay->nr_ends && replay->ends[low].pid == pid ? replay->ends[low].after
								     : UINT64_MAX;
}

static int by_tid(const void *a, const void *b)
{
	const struct jp_truth_activation *one = a, *other = b;

	if (one->tid != other->tid)
		return one->tid < other->tid ? -1 : 1;
	return one->enter < other->enter ? -1 : one->enter > other->enter;
}

/* What a handler's activations lie over: its thread's last one before that was interrupted. */
static void build_interrupted(struct jp_truth *truth)
{
	const struct jp_truth_activation *last = NULL;

	for (size_t i = 0; i < truth->nr_activations; i++) {
		struct jp_truth_activation *activation = &truth->activations[i];

		if (last && (last->tid != activation->tid || last->pid != activation->pid))
			last = NULL;
		if (activation->interrupted) {
			activation->interrupted = last;
			if (!last)
				jp_truth_mark_corrupt(truth);
		}
		if (activation->was_interrupted)
			last = activation;
	}
}

static int build_stays(struct jp_truth_collector *replay)
{
	struct jp_truth *truth = replay->truth;

	truth->activations = calloc(replay->nr_activations + 1, sizeof(*truth->activations));
	if (!truth->activations)
		return -ENOMEM;
	if (replay->nr_ends) /* qsort() wants an array even of nothing */
		qsort(replay->ends, replay->nr_ends, sizeof(*replay->ends), by_pid);
	for (size_t i = 0; i < replay->nr_activations; i++) {
		struct jp_truth_activation *activation = &truth->activations[i];

		*activation = replay->activations[i].activation;
		activation->path = &truth->paths[replay->activations[i].path];
		/* Found when they are sorted; until then, that there is one. */
		activation->interrupted = replay->activations[i].interrupted ? activation : NULL;
		if (activation->leave == UINT64_MAX)
			activation->leave = end_after(replay, activation->pid, activation->enter);
	}
	truth->nr_activations = replay->nr_activations;
	qsort(truth->activations, truth->nr_activations, sizeof(*truth->activations), by_tid);
	/* A thread is in one place at a time: the search relies on it. */
	for (size_t i = 1; i < truth->nr_activations; i++)
		if (truth->activations[i].tid == truth->activations[i - 1].tid &&
		    truth->activations[i - 1].leave > truth->activations[i].enter)
			truth->activations[i - 1].leave = truth->activations[i].enter;
	build_interrupted(truth);
	return 0;
}

int jp_truth_give(struct jp_truth_collector *replay)
{
	int ret = build_codes(replay);

	return ret ? ret : build_stays(replay);
}
