/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/base/output.h"
#include "harness/format/perfdata/reader.h"

/*
 * A perf.data written from one that is being read: attrs, ids and features are the input's, those
 * of a pipe's records too; the records are whatever is put. Always a file, never compressed.
 */
struct jp_perf_copy;

/* Starts once @reader has read its header. @output stays the caller's. NULL: no memory, or the
 * input is no regular file. */
struct jp_perf_copy *jp_perf_copy_begin(const struct jp_perf_reader *reader,
					struct jp_output *output, struct jp_error *err);
/* What reader->other gets. 0 or -ENOMEM. */
int jp_perf_copy_other(struct jp_perf_copy *copy, const unsigned char *bytes, uint64_t size);
/* Writes features and header. 0 or -ENOMEM. */
int jp_perf_copy_end(struct jp_perf_copy *copy);
void jp_perf_copy_free(struct jp_perf_copy *copy); /* NULL is fine */
