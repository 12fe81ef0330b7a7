/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/perfdata/decode.h"
#include "harness/format/perfdata/format.h"

/*
 * A perf.data of a machine of the other byte order, turned into ours piece by piece as it is read.
 * Memory of the process (stack dumps, raw data), text and build ids stay as they are.
 */

void jp_perf_swap_file_header(struct jp_perf_file_header *header);
void jp_perf_swap_attr(struct jp_perf_attr *attr);
void jp_perf_swap_record_header(struct jp_perf_record *header);

/*
 * A record of the kernel, of a multiple of 8 bytes. First the whole as 64-bit words, after which
 * its event id and time can be read; then, with the layout that the id tells, what is no such word.
 */
void jp_perf_swap_words(struct jp_perf_record *record);
void jp_perf_swap_rest(const struct jp_perf_layout *layout, struct jp_perf_record *record);
