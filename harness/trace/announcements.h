/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/map.h"

/* The memory and the jitdumps that the kernel's mapping records announce while a program runs, as a
 * profiler that launched the program would know them. Starts as zeros. */
struct jp_announcements {
	struct jp_replay *replay; /* NULL: nothing is known */
	struct jp_map dumps; /* pid of a record of a jitdump -> the pid in its name, uint64_t */
	/* Private: */
	struct jp_announcements_ring *rings;
	unsigned int nr_rings;
};

/* Begins to record the mappings of the processes that this thread will start. Does nothing if the
 * kernel does not permit that. */
void jp_announcements_open(struct jp_announcements *announced);
/* Applies the records until now. Forgets everything if the kernel lost a record. */
void jp_announcements_update(struct jp_announcements *announced);
/* Returns whether a record announced executable memory of process @pid at @addr. */
bool jp_announcements_has_code(const struct jp_announcements *announced, uint32_t pid,
			       uint64_t addr);
void jp_announcements_close(struct jp_announcements *announced);
