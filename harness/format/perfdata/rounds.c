// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/rounds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"

int jp_rounds_add(struct jp_perf_rounds *rounds, const struct jp_pending *pending)
{
	if (rounds->nr_pending == rounds->pending_capacity &&
	    !jp_array_reserve(&rounds->pending, &rounds->pending_capacity, rounds->nr_pending + 1))
		return -ENOMEM;
	rounds->pending[rounds->nr_pending++] = *pending;
	rounds->behind += pending->time < rounds->flushed;
	if (rounds->newest < pending->time)
		rounds->newest = pending->time;
	if (pending->chunk)
		pending->chunk->refs++;
	return 0;
}

/* End of the run of ascending times that starts at @from. */
static size_t run_end(const struct jp_pending *all, size_t from, size_t count)
{
	do
		from++;
	while (from < count && all[from - 1].time <= all[from].time);
	return from;
}

static void merge(const struct jp_pending *left, size_t nr_left, const struct jp_pending *right,
		  size_t nr_right, struct jp_pending *out)
{
	while (nr_left && nr_right) {
		if (left->time <= right->time) {
			*out++ = *left++;
			nr_left--;
		} else {
			*out++ = *right++;
			nr_right--;
		}
	}
	while (nr_left--)
		*out++ = *left++;
	while (nr_right--)
		*out++ = *right++;
}

/* Natural merge sort: the records of each ring are in order already. Stable. */
static void sort_due(struct jp_perf_rounds *rounds, size_t count)
{
	size_t from, middle, end;

	while (run_end(rounds->due, 0, count) < count) {
		struct jp_pending *in = rounds->due, *out = rounds->spare;

		for (from = 0; from < count; from = end) {
			middle = run_end(in, from, count);
			end = middle < count ? run_end(in, middle, count) : middle;
			merge(in + from, middle - from, in + middle, end - middle, out + from);
		}
		rounds->due = out;
		rounds->spare = in;
	}
}

static int give_out(struct jp_perf_rounds *rounds, const struct jp_pending *due, size_t count)
{
	int ret = 0;

	for (size_t i = 0; i < count; i++) {
		if (!ret)
			ret = rounds->deliver(rounds->context, &due[i]);
		jp_chunk_put(due[i].chunk);
	}
	return ret;
}

/* What waits is in order already, as that of one ring is: @count records of it are due. */
static int flush_head(struct jp_perf_rounds *rounds, size_t count)
{
	int ret = give_out(rounds, rounds->pending, count);

	rounds->nr_pending -= count;
	memmove(rounds->pending, rounds->pending + count,
		rounds->nr_pending * sizeof(*rounds->pending));
	return ret;
}

static int flush(struct jp_perf_rounds *rounds, uint64_t limit)
{
	size_t nr_due = 0, kept = 0;

	if (run_end(rounds->pending, 0, rounds->nr_pending) == rounds->nr_pending) {
		while (nr_due < rounds->nr_pending && rounds->pending[nr_due].time <= limit)
			nr_due++;
		return flush_head(rounds, nr_due);
	}
	if (!jp_array_reserve(&rounds->due, &rounds->due_capacity, rounds->nr_pending) ||
	    !jp_array_reserve(&rounds->spare, &rounds->spare_capacity, rounds->nr_pending))
		return -ENOMEM;
	for (size_t i = 0; i < rounds->nr_pending; i++) {
		if (rounds->pending[i].time <= limit)
			rounds->due[nr_due++] = rounds->pending[i];
		else
			rounds->pending[kept++] = rounds->pending[i];
	}
	rounds->nr_pending = kept;
	if (nr_due)
		sort_due(rounds, nr_due);
	return give_out(rounds, rounds->due, nr_due);
}

int jp_rounds_finish(struct jp_perf_rounds *rounds)
{
	int ret = 0;

	if (!rounds->nr_pending)
		return 0;
	if (rounds->limit)
		ret = flush(rounds, rounds->limit);
	rounds->flushed = rounds->limit;
	rounds->limit = rounds->newest;
	return ret;
}

int jp_rounds_end(struct jp_perf_rounds *rounds)
{
	return rounds->nr_pending ? flush(rounds, UINT64_MAX) : 0;
}

uint64_t jp_rounds_oldest(const struct jp_perf_rounds *rounds, uint64_t at)
{
	/* They are kept in the order of the file. */
	return rounds->nr_pending && rounds->pending[0].at < at ? rounds->pending[0].at : at;
}

void jp_rounds_free(struct jp_perf_rounds *rounds)
{
	for (size_t i = 0; i < rounds->nr_pending; i++)
		jp_chunk_put(rounds->pending[i].chunk);
	free(rounds->pending);
	free(rounds->due);
	free(rounds->spare);
}
