// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/deferred.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"

struct jp_perf_deferred_chain {
	uint64_t cookie;
	uint32_t tid;
	uint32_t count;
	size_t first; /* index of its first address in @ips, which also shows the order of arrival
		       */
};

int jp_perf_deferred_add(struct jp_perf_deferred *deferred, const struct jp_event *event)
{
	size_t nr_ips = deferred->nr_ips + event->deferred.count;

	/* Reserve room for one more address, so that an empty chain also gets an index of its
	 * own. */
	if (!jp_array_reserve(&deferred->ips, &deferred->ips_capacity, nr_ips + 1))
		return -ENOMEM;
	if (jp_array_append(&deferred->chains, &deferred->count, &deferred->capacity,
			    (struct jp_perf_deferred_chain){
				    .cookie = event->deferred.cookie,
				    .tid = event->tid,
				    .count = (uint32_t)event->deferred.count,
				    .first = deferred->nr_ips,
			    }))
		return -ENOMEM;
	if (event->deferred.count)
		memcpy(deferred->ips + deferred->nr_ips, event->deferred.ips,
		       event->deferred.count * sizeof(uint64_t));
	deferred->ips[nr_ips] = 0;
	deferred->nr_ips = nr_ips + 1;
	return 0;
}

JP_ORDER(compare_by_cookie, struct jp_perf_deferred_chain,
	 jp_compare(a->tid, b->tid)
		 ?: jp_compare(a->cookie, b->cookie)
		 ?: jp_compare(a->first, b->first));

void jp_perf_deferred_sort(struct jp_perf_deferred *deferred)
{
	jp_sort(deferred->chains, deferred->count, compare_by_cookie);
}

/* Stores in *@cookie the cookie of @sample's chain. Returns false if it has none. */
static bool get_cookie(const struct jp_event *sample, uint64_t *cookie)
{
	const uint64_t *chain = sample->sample.chain;

	for (uint64_t i = 0; i + 1 < sample->sample.nr_chain; i++) {
		/* Stop at this marker: values after it are user data that may equal a marker. */
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
	const struct jp_perf_deferred_chain *chain;
	size_t i;

	if (!get_cookie(sample, &key.cookie))
		return;
	sample->sample.chain_deferred = true;
	/* Several events may have recorded the same chain: use the first. */
	jp_search(i, deferred->count, compare_by_cookie(&deferred->chains[i], &key) < 0);
	if (i == deferred->count)
		return;
	chain = &deferred->chains[i];
	if (chain->tid != key.tid || chain->cookie != key.cookie)
		return;
	sample->sample.deferred = deferred->ips + chain->first;
	sample->sample.nr_deferred = chain->count;
}

void jp_perf_deferred_free(struct jp_perf_deferred *deferred)
{
	free(deferred->chains);
	free(deferred->ips);
	memset(deferred, 0, sizeof(*deferred));
}
