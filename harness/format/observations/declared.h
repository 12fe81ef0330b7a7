/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/format/truth/format.h"

/* What a capture cannot tell, a bit each. */
enum jp_lack {
	JP_LACKS_RECORDS = 1 << 0,   /* it is no perf.data */
	JP_LACKS_REGISTERS = 1 << 1, /* so the stack pointer fixes no depth */
	JP_LACKS_TIME = 1 << 2,
	JP_LACKS_ADDRESSES = 1 << 3, /* frames are names alone */
	JP_LACKS_NAMES = 1 << 4,     /* frames have none */
	JP_LACKS_MAPPINGS = 1 << 5,
	JP_LACKS_TASKS = 1 << 6,   /* fork, exec, exit, comm */
	JP_LACKS_THREADS = 1 << 7, /* whose a sample is, but for the process */
};
enum { JP_LACKS_ALL = (1 << 8) - 1 };

/* What a capture says of itself before its first event. */
struct jp_declared {
	bool observed; /* a stream of observations; else a perf.data, and the rest is 0 */
	uint32_t lacks;
	bool system_wide;
	bool no_losses;        /* it cannot tell what it lost */
	bool no_protections;   /* it cannot tell which mappings are executable: it calls all so */
	enum jp_method method; /* whose rule its stacks follow */
	uint64_t period;       /* ns of CPU time between two samples of a thread; 0: not told */
	char profiler[64];
};

/* The word of the header for the lowest bit of @lacks: "no-time". */
const char *jp_lack_text(uint32_t lacks);
/* Takes one line of a header, without its newline. NULL, or what was expected in it. */
const char *jp_declared_line(struct jp_declared *declared, char *line);
