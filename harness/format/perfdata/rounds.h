/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/format/perfdata/format.h"
#include "harness/format/perfdata/source.h"

/*
 * Puts records into the order of time by perf's own rule. Rings are drained one after the other;
 * FINISHED_ROUND says that each was drained once. What a round holds may be older than what an
 * earlier ring of the same round gave, but not older than the newest record of the round before:
 * up to that time everything can be given out. Equal times keep the order of the file.
 */
struct jp_pending {
	uint64_t time;
	const struct jp_perf_record *record;
	struct jp_chunk *chunk; /* that holds it, one reference is ours; NULL: the mapped file */
	uint64_t at : 48, attr : 16;
};

/* The same, as it waits: most files have no chunks, and a round may hold all of a file. */
struct jp_waiting {
	uint64_t time;
	const struct jp_perf_record *record;
	uint64_t at : 48, attr : 16;
};

/* Pending records with ascending times, from @next, which has @time, to before @end. */
struct jp_pending_run {
	uint64_t time;
	size_t next, end;
};

struct jp_perf_rounds {
	struct jp_waiting *pending;
	struct jp_chunk **chunks; /* of the first nr_chunks of them; those behind have none */
	size_t nr_pending, pending_capacity, nr_chunks, chunks_capacity;
	struct jp_pending_run *runs; /* while some are given out: a heap */
	size_t nr_runs, runs_capacity;
	uint64_t limit;   /* highest time up to the round before */
	uint64_t newest;  /* highest time so far */
	uint64_t flushed; /* what is older was given out already */
	uint64_t behind;  /* records that are older all the same: they come out of order */
	bool no_memory;   /* there was none for the runs, and nobody said so yet */
	/* Gives out one record; anything but 0 stops. */
	int (*deliver)(void *context, const struct jp_pending *pending);
	void *context;
};

/* Takes one record in. 0 or -ENOMEM. */
int jp_rounds_add(struct jp_perf_rounds *rounds, const struct jp_pending *pending);
/* FINISHED_ROUND. Returns what deliver() stopped with, or -ENOMEM. */
int jp_rounds_finish(struct jp_perf_rounds *rounds);
/* The end of the data: gives out all. */
int jp_rounds_end(struct jp_perf_rounds *rounds);
/* Offset of the first byte of the file that a pending record needs, else @at. */
uint64_t jp_rounds_oldest(const struct jp_perf_rounds *rounds, uint64_t at);
void jp_rounds_free(struct jp_perf_rounds *rounds);
