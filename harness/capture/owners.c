// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/owners.h"

#include <errno.h>
#include <stdlib.h>

void jp_table_free(struct jp_table *table)
{
	free(table->entries);
	*table = (struct jp_table){0};
}

static struct jp_entry *slot_of(const struct jp_table *table, uint64_t key)
{
	size_t mask = table->room - 1;
	size_t i = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;

	while (table->entries[i].key && table->entries[i].key != key)
		i = (i + 1) & mask;
	return &table->entries[i];
}

struct jp_entry *jp_table_find(const struct jp_table *table, uint64_t key)
{
	struct jp_entry *entry;

	if (!table->room || !key)
		return NULL;
	entry = slot_of(table, key);
	return entry->key ? entry : NULL;
}

static int grow(struct jp_table *table)
{
	struct jp_table wider = {.room = table->room ? table->room * 2 : 256};

	wider.entries = calloc(wider.room, sizeof(*wider.entries));
	if (!wider.entries)
		return -ENOMEM;
	wider.used = table->used;
	for (size_t i = 0; i < table->room; i++)
		if (table->entries[i].key)
			*slot_of(&wider, table->entries[i].key) = table->entries[i];
	free(table->entries);
	*table = wider;
	return 0;
}

struct jp_entry *jp_table_add(struct jp_table *table, uint64_t key, bool *added)
{
	struct jp_entry *entry;

	*added = false;
	if (!key || (table->used * 2 >= table->room && grow(table)))
		return NULL;
	entry = slot_of(table, key);
	if (!entry->key) {
		*entry = (struct jp_entry){.key = key, .until = UINT64_MAX};
		table->used++;
		*added = true;
	}
	return entry;
}

int jp_owners_direct(struct jp_table *lives, int32_t tid, uint64_t from)
{
	bool added;
	struct jp_entry *life = jp_table_add(lives, (uint32_t)tid, &added);

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
static uint64_t speaks_from(const struct jp_table *lives, int32_t owner)
{
	const struct jp_entry *life = jp_table_find(lives, (uint32_t)owner);

	return life && life->owner == owner ? life->from : 0;
}

bool jp_owners_duplicate(struct jp_table *lives, int32_t tid, int32_t owner, uint64_t time,
			 bool once)
{
	bool added;
	struct jp_entry *life = jp_table_add(lives, (uint32_t)tid, &added);

	if (!life) /* no memory: better twice than never */
		return false;
	if (added || time > life->until) {
		*life = (struct jp_entry){.key = life->key, .owner = owner, .until = UINT64_MAX};
		return false;
	}
	if (life->owner != owner && time >= speaks_from(lives, life->owner))
		return true;
	if (!once || time >= life->from)
		return false;
	if (!life->earlier)
		life->earlier = owner;
	return life->earlier != owner;
}

void jp_owners_exit(struct jp_table *lives, int32_t tid, uint64_t time)
{
	struct jp_entry *life = jp_table_find(lives, (uint32_t)tid);

	if (life && life->until == UINT64_MAX)
		life->until = time;
}
