/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/perfdata/reader.h"

/* Reads all records of the source. Records with a time are ordered by reader->rounds. Returns 0,
 * -errno and a message, or another value of reader->visit. */
int jp_perf_read_records(struct jp_perf_reader *reader);
