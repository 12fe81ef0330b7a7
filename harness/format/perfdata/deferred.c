// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/deferred.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct jp_perf_deferred_chain {
	uint64_t cookie;
	uint32_t tid;
	uint32_t count;
	size_t first; /* of @ips: also the order in which they came */
};

/* Room for @count elements of @size bytes at @array; NULL: no memory. */
static void *capacity_for(void *array, size_t *capacity, size_t count, size_t size)
{
	size_t more = *capacity ? *capacity : 1024;

	if (count <= *capacity)
		return array;
	while (more < count)
		more *= 2;
	array = reallocarray(array, more, size);
	if (array)
		*capacity = more;
	return array;
}

int jp_perf_deferred_add(struct jp_perf_deferred *deferred, const struct jp_event *event)
{
	size_t nr_ips = deferred->nr_ips + event->deferred.count;
	void *bigger;

	bigger = capacity_for(deferred->chains, &deferred->capacity, deferred->count + 1,
			      sizeof(*deferred->chains));
	if (!bigger)
		return -ENOMEM;
	deferred->chains = bigger;
	/* One more than there are, so that an empty chain is another place than the next. */
	bigger = capacity_for(deferred->ips, &deferred->ips_capacity, nr_ips + 1, sizeof(uint64_t));
	if (!bigger)
		return -ENOMEM;
	deferred->ips = bigger;
	deferred->chains[deferred->count++] = (struct jp_perf_deferred_chain){
		.cookie = event->deferred.cookie,
		.tid = event->tid,
		.count = (uint32_t)event->deferred.count,
		.first = deferred->nr_ips,
	};
	if (event->deferred.count)
		memcpy(deferred->ips + deferred->nr_ips, event->deferred.ips,
		       event->deferred.count * sizeof(uint64_t));
	deferred->ips[nr_ips] = 0;
	deferred->nr_ips = nr_ips + 1;
	return 0;
}

static int by_cookie(const void *left, const void *right)
{
	const struct jp_perf_deferred_chain *a = left, *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->cookie != b->cookie)
		return a->cookie < b->cookie ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

void jp_perf_deferred_sort(struct jp_perf_deferred *deferred)
{
	if (deferred->count)
		qsort(deferred->chains, deferred->count, sizeof(*deferred->chains), by_cookie);
}

/* The cookie at the end of @sample's chain; false: there is none. */
static bool cookie_of(const struct jp_event *sample, uint64_t *cookie)
{
	const uint64_t *chain = sample->sample.chain;

	for (uint64_t i = 0; i + 1 < sample->sample.nr_chain; i++) {
		/* After this marker anything may look like another. */
		if (chain[i] == JP_CONTEXT_USER)
			return false;
		*cookie = chain[i + 1];
		if (chain[i] == JP_CONTEXT_USER_DEFERRED)
			return true;
	}
	return false;
}

void jp_perf_deferred_join(const struct jp_perf_deferred *deferred, struct jp_event *sample)
{
	struct jp_perf_deferred_chain key = {.tid = sample->tid};
	size_t low = 0, high = deferred->count;

	if (!cookie_of(sample, &key.cookie))
		return;
	sample->sample.chain_deferred = true;
	/* Several events may have written the same: the first one serves. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_cookie(&deferred->chains[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == deferred->count || deferred->chains[low].tid != key.tid ||
	    deferred->chains[low].cookie != key.cookie)
		return;
	sample->sample.deferred = deferred->ips + deferred->chains[low].first;
	sample->sample.nr_deferred = deferred->chains[low].count;
}

void jp_perf_deferred_free(struct jp_perf_deferred *deferred)
{
	free(deferred->chains);
	free(deferred->ips);
	memset(deferred, 0, sizeof(*deferred));
}
