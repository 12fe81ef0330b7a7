/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_CAPTURE_OWNERS_H
#define JP_CAPTURE_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Who speaks for a thread. A thread that was opened directly and whose creator was opened too has
 * two events: its own, and the one it inherited; what it does is then told twice. Inherited events
 * report the id of the one they descend from, so exactly one teller is kept for each thread: the
 * thread itself where it was opened, else whichever ancestor is heard first.
 */
struct jp_event_owner {
	uint64_t key; /* 0: free */
	int32_t owner;
	int32_t earlier; /* the owner before @from; 0: none was heard */
	uint64_t from, until;
};

/* A table by number; zeroed is empty. */
struct jp_event_owners {
	struct jp_event_owner *entries;
	size_t used, capacity; /* room: a power of two */
};

void jp_event_owner_free(struct jp_event_owners *table);
struct jp_event_owner *jp_event_owner_find(const struct jp_event_owners *table, uint64_t key);
/* Finds or adds; a new entry has until = UINT64_MAX. NULL: no memory. */
struct jp_event_owner *jp_event_owner_add(struct jp_event_owners *table, uint64_t key, bool *added);

/* @tid was opened directly; its own events, on all CPUs, speak from @from on (UINT64_MAX: they are
 * being enabled; call again when they are). */
int jp_event_owner_direct(struct jp_event_owners *event_owners, int32_t tid, uint64_t from);
/*
 * True where a record of @tid at @time, told by an event that was opened for @owner, is the second
 * telling. In the short time while a thread's own events are being enabled, @once keeps a single
 * teller all the same (samples), else all are kept (mappings: twice is harmless, never is not).
 */
bool jp_event_owner_duplicate(struct jp_event_owners *event_owners, int32_t tid, int32_t owner,
			      uint64_t time, bool once);
/* @tid ended: its number may come back as another thread. */
void jp_event_owner_exit(struct jp_event_owners *event_owners, int32_t tid, uint64_t time);

#endif
