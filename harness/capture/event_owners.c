// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/event_owners.h"

#include <errno.h>
#include <stdlib.h>

void jp_event_owner_free(struct jp_event_owners *table)
{
	free(table->entries);
	*table = (struct jp_event_owners){0};
}

static struct jp_event_owner *slot_of(const struct jp_event_owners *table, uint64_t key)
{
	size_t mask = table->capacity - 1;
	size_t i = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;

	while (table->entries[i].key && table->entries[i].key != key)
		i = (i + 1) & mask;
	return &table->entries[i];
}

struct jp_event_owner *jp_event_owner_find(const struct jp_event_owners *table, uint64_t key)
{
	struct jp_event_owner *entry;

	if (!table->capacity || !key)
		return NULL;
	entry = slot_of(table, key);
	return entry->key ? entry : NULL;
}

static int grow(struct jp_event_owners *table)
{
	struct jp_event_owners wider = {.capacity = table->capacity ? table->capacity * 2 : 256};

	wider.entries = calloc(wider.capacity, sizeof(*wider.entries));
	if (!wider.entries)
		return -ENOMEM;
	wider.used = table->used;
	for (size_t i = 0; i < table->capacity; i++)
		if (table->entries[i].key)
			*slot_of(&wider, table->entries[i].key) = table->entries[i];
	free(table->entries);
	*table = wider;
	return 0;
}

struct jp_event_owner *jp_event_owner_add(struct jp_event_owners *table, uint64_t key, bool *added)
{
	struct jp_event_owner *entry;

	*added = false;
	if (!key || (table->used * 2 >= table->capacity && grow(table)))
		return NULL;
	entry = slot_of(table, key);
	if (!entry->key) {
		*entry = (struct jp_event_owner){.key = key, .until = UINT64_MAX};
		table->used++;
		*added = true;
	}
	return entry;
}

int jp_event_owner_direct(struct jp_event_owners *event_owners, int32_t tid, uint64_t from)
{
	bool added;
	struct jp_event_owner *life = jp_event_owner_add(event_owners, (uint32_t)tid, &added);

	if (!life)
		return -ENOMEM;
	if (life->owner != tid || life->until != UINT64_MAX) {
		life->earlier = added || life->until != UINT64_MAX ? 0 : life->owner;
		life->owner = tid;
		life->until = UINT64_MAX;
	}
	life->from = from;
	return 0;
}

/* Since when the events that were opened for @owner all speak. */
static uint64_t owns_from(const struct jp_event_owners *event_owners, int32_t owner)
{
	const struct jp_event_owner *life = jp_event_owner_find(event_owners, (uint32_t)owner);

	return life && life->owner == owner ? life->from : 0;
}

bool jp_event_owner_duplicate(struct jp_event_owners *event_owners, int32_t tid, int32_t owner,
			      uint64_t time, bool once)
{
	bool added;
	struct jp_event_owner *life = jp_event_owner_add(event_owners, (uint32_t)tid, &added);

	if (!life) /* no memory: better twice than never */
		return false;
	if (added || time > life->until) {
		*life = (struct jp_event_owner){
			.key = life->key, .owner = owner, .until = UINT64_MAX};
		return false;
	}
	if (life->owner != owner && time >= owns_from(event_owners, life->owner))
		return true;
	if (!once || time >= life->from)
		return false;
	if (!life->earlier)
		life->earlier = owner;
	return life->earlier != owner;
}

void jp_event_owner_exit(struct jp_event_owners *event_owners, int32_t tid, uint64_t time)
{
	struct jp_event_owner *life = jp_event_owner_find(event_owners, (uint32_t)tid);

	if (life && life->until == UINT64_MAX)
		life->until = time;
}
