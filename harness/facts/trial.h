/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/facts/watch.h"

/* Trying what perf_event_open takes. */
/* The least of all events. */
struct perf_event_attr jp_trial_dummy(void);
/* 0, or the error. */
int jp_trial(struct perf_event_attr *attr);
/* False: the least of all events is denied, nothing can be said of any, and the answer says why. */
bool jp_trial_may(struct jp_answer *answer);
