/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/perfdata/reader.h"

/* The records of the source, to its end: those with a time go to the rounds. 0, -errno, or what the
 * visit stopped with. */
int jp_perf_read_records(struct jp_perf_reader *reader);
