/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/map.h"

/* Finds the next record of a jitdump after invalid bytes. */

/* Facts from the records read so far, which records after damaged bytes must agree with. */
struct jp_jitdump_known {
	struct jp_map pids;  /* pids in the header and in each record */
	uint64_t least_time; /* earliest time of a record; 0: none was read */
};

/* Returns whether a record of a known type can begin at @bytes, with @remaining bytes to the end of
 * the file; the record's end may be missing. Also returns true at the end of the file. */
bool jp_jitdump_begins(const unsigned char *bytes, uint64_t remaining);
/*
 * Returns the offset of the first believable record that begins in [@start, @end) of a file of
 * @size
 * @bytes, or @end if there is none. Adds the pid of a repeated file header to @known_pids. A LOAD
 * or MOVE is believable if its sizes fit, its name ends, its pid is known and its time is no
 * earlier than
 * @known_pids->least_time. DEBUG_INFO and UNWINDING_INFO hold no pid: they are believable directly
 * before such a LOAD. CLOSE is believable at the end of the file. Invalid bytes pass this test with
 * a probability below 2^-64 each.
 */
uint64_t jp_jitdump_find(const unsigned char *bytes, uint64_t size, uint64_t start, uint64_t end,
			 struct jp_jitdump_known *known_pids);
