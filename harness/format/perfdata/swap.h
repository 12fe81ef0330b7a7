/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/perfdata/decode.h"
#include "harness/format/perfdata/format.h"

/* Converts a perf.data in the other byte order piece by piece as it is read. The process's memory
 * (stack dumps, raw data), texts and build ids stay as they are. */

void jp_perf_swap_file_header(struct jp_perf_file_header *header);
void jp_perf_swap_attr(struct jp_perf_attr *attr);
void jp_perf_swap_record_header(struct jp_perf_record *header);

/* Converts a record of the kernel, whose size is a multiple of 8, as 64-bit words. Its event id and
 * time can then be read. */
void jp_perf_swap_words(struct jp_perf_record *record);
/* Converts the fields of @record that are not 64-bit words. Call it after jp_perf_swap_words(),
 * with the layout for the record's event id. */
void jp_perf_swap_rest(const struct jp_perf_layout *layout, struct jp_perf_record *record);
