/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/map.h"

/*
 * Who speaks for a thread. A thread that was opened directly and whose creator was opened too has
 * two events: its own, and the one it inherited; what it does is then told twice. Inherited events
 * report the id of the one they descend from, so exactly one teller is kept for each thread: the
 * thread itself where it was opened, else whichever ancestor is heard first.
 */
struct jp_event_owner { /* by thread */
	int32_t owner;
	int32_t earlier;      /* the owner before @from; 0: none was heard */
	uint64_t from, until; /* until 0: none yet; UINT64_MAX: it lives */
};

/* @tid was opened directly; its own events, on all CPUs, speak from @from on (UINT64_MAX: they are
 * being enabled; call again when they are). 0 or -ENOMEM. */
int jp_event_owner_direct(struct jp_map *owners, int32_t tid, uint64_t from);
/*
 * True where a record of @tid at @time, told by an event that was opened for @owner, is the second
 * telling. In the short time while a thread's own events are being enabled, @once keeps a single
 * teller all the same (samples), else all are kept (mappings: twice is harmless, never is not).
 */
bool jp_event_owner_duplicate(struct jp_map *owners, int32_t tid, int32_t owner, uint64_t time,
			      bool once);
/* True where the end of @tid, told by an event that was opened for @owner, is the second telling:
 * another told it, at a time of its own, and no thread of that number began since (the last one at
 * @forked; 0: none). */
bool jp_event_owner_ended(const struct jp_map *owners, int32_t tid, int32_t owner, uint64_t forked);
/* @tid ended: its number may come back as another thread. */
void jp_event_owner_exit(struct jp_map *owners, int32_t tid, uint64_t time);
