// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/rounds.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "harness/base/array.h"

static struct jp_chunk *get_chunk(const struct jp_perf_rounds *rounds, size_t i)
{
	return i < rounds->nr_chunks ? rounds->chunks[i] : NULL;
}

/* Records that the next pending record is in @chunk. Returns false without memory. */
static bool set_chunk(struct jp_perf_rounds *rounds, struct jp_chunk *chunk)
{
	if (!jp_array_reserve(&rounds->chunks, &rounds->chunks_capacity, rounds->nr_pending + 1))
		return false;
	while (rounds->nr_chunks < rounds->nr_pending)
		rounds->chunks[rounds->nr_chunks++] = NULL;
	rounds->chunks[rounds->nr_chunks++] = chunk;
	return true;
}

int jp_rounds_add(struct jp_perf_rounds *rounds, const struct jp_pending *pending)
{
	if (rounds->nr_pending == rounds->pending_capacity &&
	    !jp_array_reserve(&rounds->pending, &rounds->pending_capacity, rounds->nr_pending + 1))
		return -ENOMEM;
	if (pending->chunk && !set_chunk(rounds, pending->chunk))
		return -ENOMEM;
	rounds->pending[rounds->nr_pending++] = (struct jp_waiting){.time = pending->time,
								    .record = pending->record,
								    .offset = pending->offset,
								    .attr = pending->attr};
	rounds->nr_behind += pending->time < rounds->flushed;
	if (rounds->newest < pending->time)
		rounds->newest = pending->time;
	if (pending->chunk)
		pending->chunk->refs++;
	return 0;
}

/* Returns the end of the run of ascending times that starts at @from. */
static size_t find_run_end(const struct jp_waiting *waiting, size_t from, size_t count)
{
	do
		from++;
	while (from < count && waiting[from - 1].time <= waiting[from].time);
	return from;
}

/* Returns whether the next record of @left precedes that of @right. Equal times keep file order. */
static bool is_delivered_first(const struct jp_pending_run *left,
			       const struct jp_pending_run *right)
{
	return left->time < right->time || (left->time == right->time && left->next < right->next);
}

/* Restores the heap property if only the run at index @index violates it. */
static void sift_down(struct jp_perf_rounds *rounds, size_t index)
{
	struct jp_pending_run *runs = rounds->runs, run = runs[index];

	for (size_t child; (child = 2 * index + 1) < rounds->nr_runs; index = child) {
		if (child + 1 < rounds->nr_runs &&
		    is_delivered_first(&runs[child + 1], &runs[child]))
			child++;
		if (!is_delivered_first(&runs[child], &run))
			break;
		runs[index] = runs[child];
	}
	runs[index] = run;
}

/* Divides the due records into runs of ascending times, since the records of each ring are already
 * ordered. Returns 0 or -ENOMEM. */
static int find_runs(struct jp_perf_rounds *rounds, uint64_t limit)
{
	size_t start, end;

	rounds->nr_runs = 0;
	for (start = 0; start < rounds->nr_pending; start = end) {
		struct jp_pending_run *run;
		size_t due = start;

		end = find_run_end(rounds->pending, start, rounds->nr_pending);
		while (due < end && rounds->pending[due].time <= limit)
			due++;
		if (due == start)
			continue;
		run = jp_array_push(&rounds->runs, &rounds->nr_runs, &rounds->runs_capacity);
		if (!run) {
			rounds->no_memory = true;
			return -ENOMEM;
		}
		*run = (struct jp_pending_run){rounds->pending[start].time, start, due};
	}
	for (size_t index = rounds->nr_runs / 2; index--;)
		sift_down(rounds, index);
	return 0;
}

/* Removes the delivered records from the list; the other records keep their order. */
static void drop_delivered(struct jp_perf_rounds *rounds, uint64_t limit)
{
	size_t nr_kept = 0;

	for (size_t i = 0; i < rounds->nr_pending; i++) {
		if (rounds->pending[i].time <= limit)
			continue;
		if (nr_kept < rounds->nr_chunks)
			rounds->chunks[nr_kept] = get_chunk(rounds, i);
		rounds->pending[nr_kept++] = rounds->pending[i];
	}
	rounds->nr_pending = nr_kept;
	if (rounds->nr_chunks > nr_kept)
		rounds->nr_chunks = nr_kept;
}

static int deliver_record(struct jp_perf_rounds *rounds, size_t i)
{
	const struct jp_waiting *due = &rounds->pending[i];

	return rounds->deliver(rounds->context, &(struct jp_pending){.time = due->time,
								     .record = due->record,
								     .chunk = get_chunk(rounds, i),
								     .offset = due->offset,
								     .attr = due->attr});
}

/* Delivers the due records by merging their runs with a heap, without copying records. */
static int flush_due(struct jp_perf_rounds *rounds, uint64_t limit)
{
	int ret = find_runs(rounds, limit);

	if (ret)
		return ret;
	while (rounds->nr_runs) {
		struct jp_pending_run *first = &rounds->runs[0];
		size_t due = first->next++;

		if (!ret)
			ret = deliver_record(rounds, due);
		jp_chunk_put(get_chunk(rounds, due));
		if (first->next == first->end)
			*first = rounds->runs[--rounds->nr_runs];
		else
			first->time = rounds->pending[due + 1].time;
		if (rounds->nr_runs)
			sift_down(rounds, 0);
	}
	drop_delivered(rounds, limit);
	return ret;
}

int jp_rounds_finish(struct jp_perf_rounds *rounds)
{
	int ret = 0;

	if (!rounds->nr_pending)
		return 0;
	if (rounds->limit)
		ret = flush_due(rounds, rounds->limit);
	rounds->flushed = rounds->limit;
	rounds->limit = rounds->newest;
	return ret;
}

int jp_rounds_end(struct jp_perf_rounds *rounds)
{
	return rounds->nr_pending ? flush_due(rounds, UINT64_MAX) : 0;
}

uint64_t jp_rounds_oldest(const struct jp_perf_rounds *rounds, uint64_t offset)
{
	/* Pending records are in file order. */
	return rounds->nr_pending && rounds->pending[0].offset < offset ? rounds->pending[0].offset
									: offset;
}

void jp_rounds_free(struct jp_perf_rounds *rounds)
{
	for (size_t i = 0; i < rounds->nr_chunks; i++)
		jp_chunk_put(rounds->chunks[i]);
	free(rounds->chunks);
	free(rounds->pending);
	free(rounds->runs);
}
