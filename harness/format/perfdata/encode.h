/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/format/perfdata/decode.h"

/*
 * Encodes @event as a record of the kernel, such that jp_perf_decode() returns @event again; a MAP
 * as MMAP if event->record_type is MMAP, else as MMAP2. Adds the bits of misc that follow from the
 * event's fields (MMAP_DATA, MMAP_BUILD_ID, COMM_EXEC). Truncates names at PATH_MAX, as the kernel
 * does. Returns the record's size, a multiple of 8, or 0 if it exceeds @capacity bytes, or if
 * records of this type or with such parts (PERF_SAMPLE_READ, ADDR, RAW, BRANCH_STACK) have no code.
 */
size_t jp_perf_encode(const struct jp_perf_layout *layout, const struct jp_event *event,
		      void *record, size_t capacity);

/* Changes address, length and file offset of @record, an MMAP or MMAP2. */
void jp_perf_encode_range(void *record, uint64_t addr, uint64_t len, uint64_t pgoff);
