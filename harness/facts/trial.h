/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/facts/watch.h"

/* Functions to try which attributes perf_event_open() accepts. */
/* Returns the attr of a dummy event, the event that needs the fewest privileges. */
struct perf_event_attr jp_trial_make_dummy_attr(void);
/* Opens an event with @attr and closes it. Returns 0, or the errno of perf_event_open(). */
int jp_trial_open(struct perf_event_attr *attr);
/* Returns whether the kernel allows a dummy event. If not, trials have no meaning: notes the reason
 * as missing in @answer. */
bool jp_trial_is_allowed(struct jp_answer *answer);
