/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/format/perfdata/format.h"
#include "harness/format/perfdata/source.h"

/* Orders records by time with perf's rule. perf reads one ring after the other and writes
 * FINISHED_ROUND when it has read each ring once. A record of a round may be older than records of
 * other rings in the same round, but not older than the newest record of the previous round. So all
 * records up to that time can be delivered. Records with equal times keep file order. */
struct jp_pending {
	uint64_t time;
	const struct jp_perf_record *record;
	struct jp_chunk *chunk; /* the chunk that contains the record, with a reference; NULL: the
				   mapped file */
	uint64_t offset : 48, attr : 16;
};

/* A struct jp_pending in less memory: most files have no chunks, and a round may contain a whole
 * file. */
struct jp_waiting {
	uint64_t time;
	const struct jp_perf_record *record;
	uint64_t offset : 48, attr : 16;
};

/* A run of pending records with ascending times: from index @next, whose record has @time, up to
 * @end. */
struct jp_pending_run {
	uint64_t time;
	size_t next, end;
};

struct jp_perf_rounds {
	struct jp_waiting *pending;
	struct jp_chunk **chunks; /* chunks of the first @nr_chunks pending records; later records
				     have no chunk */
	size_t nr_pending, pending_capacity, nr_chunks, chunks_capacity;
	struct jp_pending_run *runs; /* heap of runs, used during delivery */
	size_t nr_runs, runs_capacity;
	uint64_t limit;     /* highest time before this round */
	uint64_t newest;    /* highest time so far */
	uint64_t flushed;   /* all records up to this time were delivered */
	uint64_t nr_behind; /* number of records that came after records with a later time had been
			    delivered */
	bool no_memory;     /* memory ran out for the runs; not reported yet */
	/* Handles one record. A value other than 0 stops the delivery. */
	int (*deliver)(void *context, const struct jp_pending *pending);
	void *context;
};

/* Adds a record. Returns 0 or -ENOMEM. */
int jp_rounds_add(struct jp_perf_rounds *rounds, const struct jp_pending *pending);
/* Delivers the records that are due at a FINISHED_ROUND. Returns 0, another value of deliver(), or
 * -ENOMEM. */
int jp_rounds_finish(struct jp_perf_rounds *rounds);
/* Delivers all records, at the end of the data. Returns as jp_rounds_finish(). */
int jp_rounds_end(struct jp_perf_rounds *rounds);
/* Returns the lowest file offset of a pending record, if that is below @offset, else @offset. */
uint64_t jp_rounds_oldest(const struct jp_perf_rounds *rounds, uint64_t offset);
void jp_rounds_free(struct jp_perf_rounds *rounds);
