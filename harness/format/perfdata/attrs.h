/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/map.h"
#include "harness/format/perfdata/decode.h"
#include "harness/format/perfdata/format.h"

/* The attrs of a file and which of them a record belongs to. */
struct jp_perf_attr_entry {
	struct jp_perf_attr attr;
	struct jp_perf_layout layout;
	struct jp_event_asked asked;
};

struct jp_perf_attrs {
	struct jp_perf_attr_entry *all;
	size_t count, capacity;
	uint32_t e_machine;
	bool swapped;        /* what is added has the other byte order */
	bool ids_missing;    /* of what is added some ids are cut off */
	bool differ;         /* in layout: a record cannot be read without knowing its attr */
	struct jp_map by_id; /* index of the attr */
	uint64_t last_id;    /* asked for, and its attr */
	size_t last;
	uint64_t unknown_ids; /* records whose id is of no attr, read as the first one's */
};

/* Adds the attr in the @size bytes at @bytes with @nr_ids ids (u64, unaligned) at @ids. Returns
 * NULL, or what was expected, or "memory" for want of it. */
const char *jp_perf_attrs_add(struct jp_perf_attrs *attrs, const void *bytes, size_t size,
			      const void *ids, size_t nr_ids);
/* The registers in samples are those of @e_machine (elf.h). */
void jp_perf_attrs_machine(struct jp_perf_attrs *attrs, uint32_t e_machine);
bool jp_perf_attr_monotonic(const struct jp_perf_attr *attr);
/* Index of the attr of @record, or -1: nothing tells. */
int64_t jp_perf_attrs_of(struct jp_perf_attrs *attrs, const struct jp_perf_record *record);
void jp_perf_attrs_free(struct jp_perf_attrs *attrs);
