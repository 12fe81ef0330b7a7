// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/event_owners.h"

#include <errno.h>

static struct jp_event_owner *get_owner(struct jp_map *owners, int32_t tid)
{
	return jp_map_at(owners, (uint32_t)tid, sizeof(struct jp_event_owner));
}

int jp_event_owner_add_direct(struct jp_map *owners, int32_t tid, uint64_t created)
{
	struct jp_event_owner *life = get_owner(owners, tid);

	if (!life)
		return -ENOMEM;
	if (life->owner != tid || life->closed != UINT64_MAX) {
		life->earlier_owner = life->closed != UINT64_MAX ? 0 : life->owner;
		life->owner = tid;
		life->closed = UINT64_MAX;
	}
	life->created = created;
	return 0;
}

/* Returns the time from which all events that were opened for @owner are on, or 0 if @owner was not
 * opened directly. */
static uint64_t get_start(const struct jp_map *owners, int32_t owner)
{
	const struct jp_event_owner *life = jp_map_find(owners, (uint32_t)owner);

	return life && life->owner == owner ? life->created : 0;
}

bool jp_event_owner_is_duplicate(struct jp_map *owners, int32_t tid, int32_t owner, uint64_t time,
				 bool is_once)
{
	struct jp_event_owner *life = get_owner(owners, tid);

	if (!life) /* Out of memory: keep both records rather than none. */
		return false;
	if (time > life->closed || !life->closed) {
		*life = (struct jp_event_owner){.owner = owner, .closed = UINT64_MAX};
		return false;
	}
	if (life->owner != owner && time >= get_start(owners, life->owner))
		return true;
	if (!is_once || time >= life->created)
		return false;
	if (!life->earlier_owner)
		life->earlier_owner = owner;
	return life->earlier_owner != owner;
}

void jp_event_owner_exit(struct jp_map *owners, int32_t tid, uint64_t time)
{
	struct jp_event_owner *life = jp_map_find(owners, (uint32_t)tid);

	if (life && life->closed == UINT64_MAX)
		life->closed = time;
}

bool jp_event_owner_has_ended(const struct jp_map *owners, int32_t tid, int32_t owner,
			      uint64_t forked)
{
	const struct jp_event_owner *life = jp_map_find(owners, (uint32_t)tid);

	return life && life->closed && life->closed != UINT64_MAX && life->owner != owner &&
	       forked <= life->closed;
}
