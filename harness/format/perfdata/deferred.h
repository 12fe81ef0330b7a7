/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/format/event.h"

/* Deferred callchains (since 6.19): a sample's chain ends with PERF_CONTEXT_USER_DEFERRED and a
 * cookie. The kernel unwinds the user part when the thread returns to user space, and writes it as
 * a separate record with that cookie. One such record may belong to several samples. */
struct jp_perf_deferred {
	struct jp_perf_deferred_chain *chains; /* sorted by tid, cookie */
	size_t count, capacity;
	uint64_t *ips; /* addresses of all chains */
	size_t nr_ips, ips_capacity;
};

/* Adds the chain of a JP_EVENT_DEFERRED. Returns 0 or -ENOMEM. */
int jp_perf_deferred_add(struct jp_perf_deferred *deferred, const struct jp_event *event);
/* Sorts the chains, between the last add and the first join. */
void jp_perf_deferred_sort(struct jp_perf_deferred *deferred);
/* Sets the deferred user part of @sample if its chain ends with a cookie and the part exists. */
void jp_perf_deferred_join(const struct jp_perf_deferred *deferred, struct jp_event *sample);
void jp_perf_deferred_free(struct jp_perf_deferred *deferred);
