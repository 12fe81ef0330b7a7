/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/map.h"

/*
 * Finds duplicate records. If a thread and its creator were both opened directly, the thread has an
 * event of its own and an inherited one, which record all its actions twice. Records of an
 * inherited event have the id of the original event. So each thread has one owner, whose records
 * are kept: the thread itself if it was opened directly, else the ancestor whose event reports
 * first.
 */
struct jp_event_owner { /* the owner of a thread's records */
	int32_t owner;
	int32_t earlier_owner; /* the owner until @created; 0: none */
	/* When @owner's events were on, in ns, until the thread's exit; @closed 0: no owner yet;
	 * UINT64_MAX: the thread lives. */
	uint64_t created, closed;
};

/* Notes that @tid was opened directly, and that its events are on from time @created in ns on all
 * CPUs. @created UINT64_MAX: the events are being enabled; call again afterwards. Returns 0 or
 * -ENOMEM. */
int jp_event_owner_add_direct(struct jp_map *owners, int32_t tid, uint64_t created);
/* Returns whether a record of @tid at @time, from an event that was opened for @owner, is a
 * duplicate. While a thread's own events are being enabled, both they and inherited events may
 * write its records. If @is_once (samples), only records of one event are kept meanwhile; otherwise
 * all (mappings: a duplicate is harmless, a loss is not). */
bool jp_event_owner_is_duplicate(struct jp_map *owners, int32_t tid, int32_t owner, uint64_t time,
				 bool is_once);
/* Returns whether the exit of @tid, from an event that was opened for @owner, is a duplicate:
 * another event reported the exit, and no thread with the same number began since. @forked: time of
 * the last FORK record of that number; 0: none. */
bool jp_event_owner_has_ended(const struct jp_map *owners, int32_t tid, int32_t owner,
			      uint64_t forked);
/* Notes that @tid ended: its number may be reused. */
void jp_event_owner_exit(struct jp_map *owners, int32_t tid, uint64_t time);
