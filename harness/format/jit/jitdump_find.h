/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/map.h"

/* Finds the next record of a jitdump after bytes that are no record. */

/* What the file stated so far; records after damaged bytes have to agree with it. */
struct jp_jitdump_known {
	struct jp_map pids;  /* of the header and of each record */
	uint64_t least_time; /* earliest time of a record; 0: none was read */
};

/* Returns whether a record of a known type can begin at @bytes, with @left bytes to the end of the
 * file; the record's end may be missing. The end of the file counts too. */
bool jp_jitdump_begins(const unsigned char *bytes, uint64_t left);
/*
 * Returns the offset of the first believable record that begins in [@from, @to) of a file of @size
 * @bytes, or @to if there is none. Adds the pid of a repeated file header to @known. A LOAD or MOVE
 * is believable if its sizes fit, its name ends, its pid is known and its time is no earlier than
 * @known->least_time. DEBUG_INFO and UNWINDING_INFO hold no pid: they count right before such a
 * LOAD, and CLOSE at the end of the file. Bytes that are no record pass this test with a
 * probability below 2^-64 each.
 */
uint64_t jp_jitdump_find(const unsigned char *bytes, uint64_t size, uint64_t from, uint64_t to,
			 struct jp_jitdump_known *known);
