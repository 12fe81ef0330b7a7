/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/facts/watch.h"

/* Trials of the attributes that perf_event_open() accepts. */
/* Returns the attr of a dummy event, which needs the least rights. */
struct perf_event_attr jp_trial_dummy(void);
/* Opens and closes an event. Returns 0, or the errno of perf_event_open(). */
int jp_trial_open(struct perf_event_attr *attr);
/* Returns whether the kernel allows a dummy event; if not, no trial has a meaning, and the reason
 * is stated as missing. */
bool jp_trial_is_allowed(struct jp_answer *answer);
