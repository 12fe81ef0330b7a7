/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/groups.h"
#include "harness/format/event.h"

/* The acts of each process and thread, as indices sorted by time. */
struct jp_acts_of {
	struct jp_groups processes; /* all acts, by pid */
	/* Acts that start or end a process or its program (image), by pid. */
	struct jp_groups lifecycle;
	struct jp_groups threads; /* FORK acts, by the tid of the new thread */
};

/* Indexes @acts, which are sorted by time. Returns 0 or -ENOMEM. */
int jp_acts_of_index(struct jp_acts_of *of, const struct jp_event *acts, size_t count);
void jp_acts_of_free(struct jp_acts_of *acts);
