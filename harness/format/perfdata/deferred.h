/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/base/error.h"
#include "harness/format/event.h"

/*
 * Deferred callchains (kernels from 6.19): a sample ends with PERF_CONTEXT_USER_DEFERRED and a
 * cookie; the user's part is walked when the thread next returns to user space, and written then as
 * a record of its own, with that cookie. One such record may serve several samples.
 */
struct jp_perf_deferred {
	struct jp_perf_deferred_chain *chains; /* by tid, cookie */
	size_t count, capacity;
	uint64_t *ips; /* of all of them */
	size_t nr_ips, ips_capacity;
};

/* Takes event @JP_EVENT_DEFERRED in. 0 or -ENOMEM. */
int jp_perf_deferred_add(struct jp_perf_deferred *deferred, const struct jp_event *event);
/* Once all are in: before the first join. */
void jp_perf_deferred_sort(struct jp_perf_deferred *deferred);
/* Gives @sample, whose chain ends with a cookie, its user part, where there is one. */
void jp_perf_deferred_join(const struct jp_perf_deferred *deferred, struct jp_event *sample);
void jp_perf_deferred_free(struct jp_perf_deferred *deferred);
