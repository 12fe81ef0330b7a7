/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/oracle/executable_space.h"

/* @event tells all executable mappings of @space, and of who shares it: what no act told is learned
 * from it. 0; -EINVAL and a message where the two contradict each other; or -ENOMEM. */
int jp_memory_mark(struct jp_memory_replay *replay, struct jp_memory_space *space,
		   const struct jp_event *event);
