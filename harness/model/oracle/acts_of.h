/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/groups.h"
#include "harness/format/event.h"

/* Which acts of a truth are one process's or thread's: indices, in the order of time. */
struct jp_acts_of {
	struct jp_groups processes; /* all acts, by pid */
	struct jp_groups lives;     /* what begins or ends a process or an image of it, by pid */
	struct jp_groups threads;   /* FORKs, by the tid that they begin */
};

/* Of @acts, which are by time. 0 or -ENOMEM. */
int jp_acts_of_index(struct jp_acts_of *of, const struct jp_event *acts, size_t count);
void jp_acts_of_free(struct jp_acts_of *of);
