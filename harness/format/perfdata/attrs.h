/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/map.h"
#include "harness/format/perfdata/decode.h"
#include "harness/format/perfdata/format.h"
#include "harness/format/perfdata/summary.h"

/* The attrs of a file. Finds the attr that a record belongs to. */
struct jp_perf_attr_entry {
	struct jp_perf_attr attr;
	struct jp_perf_layout layout;
	struct jp_event_asked request;
};

struct jp_perf_attrs {
	struct jp_perf_attr_entry *list;
	size_t count, capacity;
	uint32_t e_machine;
	bool swapped;         /* the file, and so each added attr, has the other byte order */
	bool ids_missing;     /* some ids of the added attrs are cut off at the end of the file */
	bool layouts_differ;  /* the layouts of the attrs differ, so a record can be read only after
			 its attr  is found */
	struct jp_map by_id;  /* event id -> index of the attr */
	uint64_t last_id;     /* id that was looked up last */
	size_t last_index;    /* index of the attr of @last_id */
	uint64_t unknown_ids; /* number of records whose id belongs to no attr; they are read with
				 the first attr */
};

/* Adds the attr in the @size bytes at @bytes, and its @nr_ids ids (u64, unaligned) at @ids. Returns
 * NULL, what was expected, or "memory" if memory ran out. */
const char *jp_perf_attrs_add(struct jp_perf_attrs *attrs, const void *bytes, size_t size,
			      const void *ids, size_t nr_ids);
/* Sets the machine (elf.h) whose registers the samples hold. */
void jp_perf_attrs_set_machine(struct jp_perf_attrs *attrs, uint32_t e_machine);
/* Returns whether the times in the event's records are CLOCK_MONOTONIC. */
bool jp_perf_is_monotonic(const struct jp_perf_attr *attr);
/* Returns the index of the attr of @record, or -1 if it is unknown. */
int64_t jp_perf_attrs_find(struct jp_perf_attrs *attrs, const struct jp_perf_record *record);
void jp_perf_attrs_free(struct jp_perf_attrs *attrs);

/* Compares the feature EVENT_DESC, @size bytes at @bytes, with the events of @attrs. Ignores ids,
 * which a tool that rewrites a file may change. */
enum jp_described jp_perf_compare_event_desc(const struct jp_perf_attrs *attrs,
					     const unsigned char *bytes, uint64_t size);

/* Returns whether @attr has the form that this project's captures request
 * (harness/capture/events.c). Values that vary are recorded in other files of the run directory.
 * Ignores the wakeup setting, which affects no record. */
bool jp_perf_is_own_attr(const struct jp_perf_attr *attr);
