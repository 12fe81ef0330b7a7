/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/oracle/executable_space.h"

/* Applies the mark @event, which lists all executable mappings of @space and of the processes that
 * share it. Adds mappings that no act reported. Returns 0, -EINVAL and a message if acts and mark
 * contradict each other, or -ENOMEM. */
int jp_memory_mark(struct jp_memory_replay *replay, struct jp_memory_space *space,
		   const struct jp_event *event);
