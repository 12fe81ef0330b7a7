/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/format/perfdata/decode.h"

/*
 * The encoder of the kernel's records: jp_perf_decode() of what it writes is @event again. Encodes
 * SAMPLE, MAP (MMAP where event->record_type says so, else MMAP2), COMM, FORK, EXIT, LOST,
 * LOST_SAMPLES, THROTTLE and DEFERRED. The sample id of a FORK names the parent, of all others
 * pid and tid; a STREAM_ID is the id. event->misc is taken as it is, with the bits added that the
 * event's own fields stand for (MMAP_DATA, MMAP_BUILD_ID, COMM_EXEC). Names are cut at PATH_MAX, as
 * the kernel's are.
 *
 * Returns the record's size, a multiple of 8; 0 where it has more than @capacity bytes, or parts
 * that no event holds (PERF_SAMPLE_READ, ADDR, RAW, BRANCH_STACK).
 */
size_t jp_perf_encode(const struct jp_perf_layout *layout, const struct jp_event *event,
		      void *record, size_t capacity);

/* Changes the range of @record, an MMAP or MMAP2, and nothing else. */
void jp_perf_encode_range(void *record, uint64_t addr, uint64_t len, uint64_t pgoff);
