// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/attrs.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ATTRS = 65535 /* what fits into struct jp_pending */ };

static size_t id_place(const struct jp_perf_attrs *attrs, uint64_t id)
{
	size_t at = (id * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (attrs->ids_capacity - 1);

	while (attrs->ids[at].id && attrs->ids[at].id != id)
		at = (at + 1) & (attrs->ids_capacity - 1);
	return at;
}

static bool add_id(struct jp_perf_attrs *attrs, uint64_t id, uint32_t attr)
{
	size_t at;

	if (!id)
		return true;
	if (attrs->nr_ids * 2 >= attrs->ids_capacity) {
		struct jp_perf_attrs bigger = {
			.ids_capacity = attrs->ids_capacity ? attrs->ids_capacity * 2 : 64};

		bigger.ids = calloc(bigger.ids_capacity, sizeof(*bigger.ids));
		if (!bigger.ids)
			return false;
		for (size_t i = 0; i < attrs->ids_capacity; i++)
			if (attrs->ids[i].id)
				bigger.ids[id_place(&bigger, attrs->ids[i].id)] = attrs->ids[i];
		free(attrs->ids);
		attrs->ids = bigger.ids;
		attrs->ids_capacity = bigger.ids_capacity;
	}
	at = id_place(attrs, id);
	attrs->nr_ids += !attrs->ids[at].id;
	attrs->ids[at] = (struct jp_perf_id){id, attr};
	return true;
}

const char *jp_perf_attrs_add(struct jp_perf_attrs *attrs, const void *bytes, size_t size,
			      const void *ids, size_t nr_ids)
{
	struct jp_perf_attr_entry *entry;

	if (attrs->count == attrs->capacity) {
		uint32_t capacity = attrs->capacity ? attrs->capacity * 2 : 8;

		if (attrs->count >= MAX_ATTRS)
			return "at most 65535 attrs";
		entry = realloc(attrs->all, capacity * sizeof(*entry));
		if (!entry)
			return "memory";
		attrs->all = entry;
		attrs->capacity = capacity;
	}
	entry = &attrs->all[attrs->count];
	memset(entry, 0, sizeof(*entry));
	if (size < JP_PERF_ATTR_SIZE_0)
		return "an attr of at least 64 bytes";
	/* Of a newer perf's longer attr the tail is nothing that the place of a field depends on.
	 */
	memcpy(&entry->attr, bytes, size < sizeof(entry->attr) ? size : sizeof(entry->attr));
	jp_perf_layout(&entry->attr, attrs->e_machine, &entry->layout);
	if (memcmp(&entry->layout, &attrs->all[0].layout, sizeof(entry->layout)) != 0)
		attrs->differ = true;
	for (size_t i = 0; i < nr_ids; i++) {
		uint64_t id;

		memcpy(&id, (const unsigned char *)ids + i * sizeof(id), sizeof(id));
		if (!add_id(attrs, id, attrs->count))
			return "memory";
	}
	attrs->count++;
	return NULL;
}

void jp_perf_attrs_machine(struct jp_perf_attrs *attrs, uint32_t e_machine)
{
	attrs->e_machine = e_machine;
	for (uint32_t i = 0; i < attrs->count; i++)
		attrs->all[i].layout.machine = jp_machine_find(e_machine);
}

int64_t jp_perf_attrs_of(struct jp_perf_attrs *attrs, const struct jp_perf_record *record)
{
	const struct jp_perf_layout *first;
	uint64_t id;

	if (attrs->count <= 1)
		return (int64_t)attrs->count - 1;
	first = &attrs->all[0].layout;
	/* perf puts the id at one place for all attrs of a file, so the first one's will do. */
	if (record->type == JP_PERF_RECORD_SAMPLE ? !first->id : !first->end_id)
		return attrs->differ && record->type == JP_PERF_RECORD_SAMPLE ? -1 : 0;
	id = jp_perf_record_id(first, record);
	if (id && id == attrs->last.id)
		return attrs->last.attr;
	if (!id) /* synthesized by perf: belongs to none */
		return 0;
	if (attrs->ids_capacity) {
		const struct jp_perf_id *found = &attrs->ids[id_place(attrs, id)];

		if (found->id) {
			attrs->last = *found;
			return found->attr;
		}
	}
	return attrs->differ ? -1 : 0;
}

void jp_perf_attrs_free(struct jp_perf_attrs *attrs)
{
	free(attrs->all);
	free(attrs->ids);
	*attrs = (struct jp_perf_attrs){0};
}
