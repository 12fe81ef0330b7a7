/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/map.h"

/*
 * Decides which event reports a thread. If a thread and its creator were both opened directly, the
 * thread has two events, its own and an inherited one, and all it does is recorded twice. Inherited
 * events report the id of their origin, so one reporter is kept for each thread: the thread itself
 * if it was opened, else the ancestor that reports first.
 */
struct jp_event_owner { /* by thread */
	int32_t owner;
	int32_t earlier;      /* the owner before @from; 0: none */
	uint64_t from, until; /* @until 0: none yet; UINT64_MAX: it lives */
};

/* Notes that @tid was opened directly: its own events, on all CPUs, are on from @from (UINT64_MAX:
 * they are being enabled; call again afterwards). Returns 0 or -ENOMEM. */
int jp_event_owner_direct(struct jp_map *owners, int32_t tid, uint64_t from);
/* Returns whether a record of @tid at @time, from an event that was opened for @owner, is a
 * duplicate. While a thread's own events are being enabled, @once keeps one reporter only
 * (samples); else all are kept (mappings: a duplicate is harmless, a loss is not). */
bool jp_event_owner_duplicate(struct jp_map *owners, int32_t tid, int32_t owner, uint64_t time,
			      bool once);
/* Returns whether the exit of @tid, from an event that was opened for @owner, is a duplicate:
 * another event reported it, and no thread with that number began since (the last at @forked; 0:
 * none). */
bool jp_event_owner_ended(const struct jp_map *owners, int32_t tid, int32_t owner, uint64_t forked);
/* Notes that @tid ended: its number may be reused. */
void jp_event_owner_exit(struct jp_map *owners, int32_t tid, uint64_t time);
