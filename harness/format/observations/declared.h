/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/format/truth/format.h"

/* Kinds of data that a capture may lack, one bit each. */
enum jp_lack {
	JP_LACKS_RECORDS = 1 << 0,   /* the capture is not a perf.data */
	JP_LACKS_REGISTERS = 1 << 1, /* no registers: the depth of the stack cannot be checked
					against the stack pointer */
	JP_LACKS_TIME = 1 << 2,
	JP_LACKS_ADDRESSES = 1 << 3, /* frames have only names */
	JP_LACKS_NAMES = 1 << 4,     /* frames have only addresses */
	JP_LACKS_MAPPINGS = 1 << 5,
	JP_LACKS_TASKS = 1 << 6,   /* no records of fork, exec, exit and comm */
	JP_LACKS_THREADS = 1 << 7, /* samples have a pid, but no tid */
};
enum { JP_LACKS_ALL = (1 << 8) - 1 };

/* What the header of a capture declares about its contents. */
struct jp_declared {
	bool observed; /* the capture is a stream of observations; otherwise it is a perf.data, and
			  the other fields are 0 */
	uint32_t lacking;
	bool system_wide;
	bool no_losses;        /* the profiler does not record losses */
	bool no_protections;   /* protections are not recorded: all mappings count as executable */
	enum jp_method method; /* method by which the profiler unwinds stacks */
	uint64_t period;       /* ns of CPU time between two samples of a thread; 0: unknown */
	char profiler[64];
};

/* Returns the header's word for the lowest bit of @missing_parts, such as "no-time", or "nothing"
 * for 0. */
const char *jp_lack_text(uint32_t missing_parts);
/* Parses one line of a header, without its newline. Overwrites parts of the line. Returns NULL, or
 * what was expected. */
const char *jp_declared_parse_line(struct jp_declared *declared, char *line);
