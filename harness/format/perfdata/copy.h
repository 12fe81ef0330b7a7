/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/base/output.h"
#include "harness/format/perfdata/reader.h"

/* Writes a perf.data from another perf.data while that is read. Attrs, ids and features are copied
 * from the input, also if they are records of a pipe; the caller writes the other records. The
 * result is always a file and never compressed. */
struct jp_perf_copy;

/* Starts a copy after @reader has read the header. The caller keeps @output until the end. Returns
 * NULL and a message if memory runs out, or if the input is no regular file or has the other byte
 * order. */
struct jp_perf_copy *jp_perf_copy_begin(const struct jp_perf_reader *reader,
					struct jp_output *output, struct jp_error *err);
/* Copies a record that reader->other receives. Returns 0 or -ENOMEM. */
int jp_perf_copy_other(struct jp_perf_copy *copy, const unsigned char *bytes, uint64_t size);
/* Completes the copy: writes the features and the header. Returns 0 or -ENOMEM. */
int jp_perf_copy_end(struct jp_perf_copy *copy);
void jp_perf_copy_free(struct jp_perf_copy *copy); /* @copy may be NULL */
