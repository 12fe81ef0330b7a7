// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/truth/items.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/round.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"

/* Assembles facts that consist of several records, and other facts that have an id. The records of
 * a fact may be apart. If a part is missing, doubled or contradictory, the whole fact is torn. */

static uint32_t get_id(const struct jp_truth_record *record)
{
	return (uint32_t)(record->type == JP_TRUTH_CODE_LOAD ? record->load.function
							     : record->item.id);
}

static bool has_id(const struct jp_truth_record *record)
{
	switch (record->type) {
	case JP_TRUTH_TEXT:
	case JP_TRUTH_LAYOUT:
	case JP_TRUTH_PATH:
	case JP_TRUTH_ROOT:
	case JP_TRUTH_CODE_LOAD:
	case JP_TRUTH_FRAMES:
		return true;
	default:
		return false;
	}
}

JP_ORDER(compare_by_id_and_part, struct jp_truth_record *,
	 jp_compare(get_id(*a), get_id(*b))
		 ?: jp_compare((*a)->part, (*b)->part)
		 ?: jp_compare(*a, *b));

/* Copies the data of @count parts. Returns NULL without memory. */
static void *gather_parts(struct jp_truth_items *items, struct jp_truth_record **part, size_t count)
{
	const size_t size = sizeof(part[0]->item.data);
	char *data = jp_truth_alloc(items, count, size);

	for (size_t i = 0; data && i < count; i++)
		memcpy(data + i * size, part[i]->item.data, size);
	return data;
}

static struct jp_truth_layout *make_layout(struct jp_truth_items *items, uint32_t id,
					   struct jp_truth_insn *insns, uint32_t count)
{
	struct jp_truth_layout *layout = jp_truth_alloc(items, 1, sizeof(*layout));

	if (!layout)
		return NULL;
	layout->id = id;
	layout->insns = insns;
	layout->returns = layout->tail = UINT32_MAX;
	for (uint32_t i = 0; i < count; i++) {
		struct jp_truth_insn *insn = &insns[i];
		bool returns = insn->bp & JP_INSN_RETURN, tail = insn->bp & JP_INSN_TAIL;

		insn->bp &= ~(JP_INSN_RETURN | JP_INSN_TAIL);
		/* A layout has only one call or tail call. */
		if ((i && insn->offset <= insn[-1].offset) ||
		    (insn->bp & ~JP_INSN_FLAGS) >= JP_BPS || insn->align > 16 ||
		    ((returns || tail) &&
		     (returns == tail || (layout->returns & layout->tail) != UINT32_MAX)))
			return layout; /* a count of 0 marks it as invalid */
		if (returns)
			layout->returns = i;
		if (tail)
			layout->tail = i;
	}
	layout->count = count;
	return layout;
}

static int make_frames(struct jp_truth_items *items, const struct jp_truth_record *record,
		       struct jp_truth_item *item)
{
	struct jp_truth_frames *frames = jp_truth_alloc(items, 1, sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	if (record->frames.cfi_status >= JP_CFI_STATUSES)
		return 0;
	*frames = (struct jp_truth_frames){.id = item->id,
					   .cfi_status = record->frames.cfi_status,
					   .vdso = record->frames.flags & JP_FRAMES_VDSO,
					   .word = record->frames.word};
	item->list.frames = frames;
	return 1;
}

/* Resolves the roots that FRAMES refer to, when all facts are assembled. */
static void build_detours(struct jp_truth_reader *reader, struct jp_truth_record *const *parts,
			  size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct jp_truth_item *frames, *root;

		if (parts[i]->type != JP_TRUTH_FRAMES || !parts[i]->frames.detour)
			continue;
		frames = jp_truth_find_item(reader->items, get_id(parts[i]), JP_TRUTH_FRAMES);
		root = jp_truth_find_item(reader->items, parts[i]->frames.detour, JP_TRUTH_ROOT);
		if (!frames)
			continue;
		if (!root || root->list.root->method != JP_CHAIN)
			jp_truth_mark_corrupt(reader);
		else
			frames->list.frames->detour = root->list.root;
	}
}

/* Returns whether a part exists twice, which killing a writer cannot cause. */
static bool has_repeated_part(struct jp_truth_record **part, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (part[i]->part == part[i - 1]->part)
			return true;
	return false;
}

/* Returns whether @part contains each part of an item of @total words or bytes exactly once. */
static bool is_whole(struct jp_truth_record **part, size_t count, uint64_t total)
{
	static const size_t per_part[JP_TRUTH_TYPES] = {[JP_TRUTH_TEXT] = 24,
							[JP_TRUTH_LAYOUT] = 2,
							[JP_TRUTH_PATH] = 6,
							[JP_TRUTH_ROOT] = 3};
	const struct jp_truth_record *first = part[0];
	const uint64_t parts = (total + per_part[first->type] - 1) / per_part[first->type];

	if (count != (parts ? parts : 1))
		return false;
	for (size_t i = 0; i < count; i++)
		if (part[i]->part != i || part[i]->type != first->type ||
		    part[i]->a[0] != first->a[0] || part[i]->pid != first->pid)
			return false;
	return true;
}

static int make_text(struct jp_truth_items *items, const void *data, uint64_t total,
		     struct jp_truth_item *item)
{
	char *text = jp_truth_alloc(items, total + 1, 1);

	if (!text)
		return -ENOMEM;
	memcpy(text, data, total);
	item->list.text = text;
	return 1;
}

static int make_root(struct jp_truth_items *items, uint64_t *frames, uint64_t total,
		     enum jp_method method, struct jp_truth_item *item)
{
	if (method >= JP_ROOTS)
		return 0;
	item->list.root = jp_truth_alloc(items, 1, sizeof(*item->list.root));
	if (!item->list.root)
		return -ENOMEM;
	item->list.root->id = item->id;
	item->list.root->method = method;
	item->list.root->count = total;
	item->list.root->frames = frames;
	return 1;
}

/* Assembles one item of @count parts. Returns 1, 0 if it is torn, or -ENOMEM. */
static int assemble_item(struct jp_truth_items *items, struct jp_truth_record **part, size_t count,
			 struct jp_truth_item *item)
{
	const struct jp_truth_record *first = part[0];
	const enum jp_method method = first->item.total & 0xff;
	uint64_t total = first->item.total;
	void *data;

	item->id = get_id(first);
	item->type = first->type;
	if (!item->id)
		return 0;
	if (first->type == JP_TRUTH_CODE_LOAD)
		return count == 1 && first->part == 0;
	if (first->type == JP_TRUTH_FRAMES)
		return count == 1 && first->part == 0 ? make_frames(items, first, item) : 0;
	if (first->type == JP_TRUTH_ROOT)
		total >>= 8;
	if (!is_whole(part, count, total))
		return 0;
	data = gather_parts(items, part, count);
	if (!data)
		return -ENOMEM;
	switch (first->type) {
	case JP_TRUTH_TEXT:
		return make_text(items, data, total, item);
	case JP_TRUTH_LAYOUT:
		item->list.layout = make_layout(items, item->id, data, total);
		if (!item->list.layout)
			return -ENOMEM;
		return item->list.layout->count > 0;
	case JP_TRUTH_PATH:
		item->list.path = (struct jp_truth_path_item){
			.id = item->id, .depth = total, .functions = data};
		return total > 0;
	default:
		return make_root(items, data, total, method, item);
	}
}

int jp_truth_items_build(struct jp_truth_reader *reader)
{
	struct jp_truth_items *items = reader->items;
	struct jp_truth_record **parts = calloc(items->nr_records + 1, sizeof(*parts));
	size_t count = 0;
	int ret = 0;

	items->items = calloc(items->nr_records + 1, sizeof(*items->items));
	if (!parts || !items->items) {
		free(parts);
		return -ENOMEM;
	}
	for (size_t i = 0; i < items->nr_records; i++)
		if (has_id(items->records[i]))
			parts[count++] = items->records[i];
	jp_sort(parts, count, compare_by_id_and_part);
	for (size_t i = 0, n; i < count && ret >= 0; i += n) {
		for (n = 1; i + n < count && get_id(parts[i + n]) == get_id(parts[i]);)
			n++;
		ret = assemble_item(items, parts + i, n, &items->items[items->nr_items]);
		if (ret > 0)
			items->nr_items++;
		else if (!ret && has_repeated_part(parts + i, n))
			jp_truth_mark_corrupt(reader);
		else if (!ret)
			reader->torn++; /* a gap only if another record refers to it */
	}
	if (ret >= 0)
		build_detours(reader, parts, count);
	free(parts);
	return ret < 0 ? ret : 0;
}

struct jp_truth_item *jp_truth_find_item(const struct jp_truth_items *items, uint64_t id,
					 enum jp_truth_type type)
{
	struct jp_truth_item *item;
	size_t i;

	jp_search(i, items->nr_items, items->items[i].id < id);
	item = &items->items[i];
	return i < items->nr_items && item->id == id && item->type == type ? item : NULL;
}

const char *jp_truth_find_text(const struct jp_truth_items *items, uint64_t id)
{
	const struct jp_truth_item *item = jp_truth_find_item(items, id, JP_TRUTH_TEXT);

	return item ? item->list.text : id ? NULL : "";
}

void *jp_truth_alloc(struct jp_truth_items *items, size_t count, size_t size)
{
	struct jp_truth_region *region = items->region;
	size_t bytes, chunk = 1 << 16;
	void *item;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	bytes = jp_round_up_to_words(bytes);
	if (!region || region->size - region->used < bytes) {
		if (chunk < bytes)
			chunk = bytes;
		region = calloc(1, sizeof(*region) + chunk);
		if (!region)
			return NULL;
		region->size = chunk;
		region->next = items->region;
		items->region = region;
	}
	item = (char *)region->bytes + region->used;
	region->used += bytes;
	return item;
}

void jp_truth_mark_corrupt(struct jp_truth_reader *reader)
{
	reader->torn++;
	reader->gaps++;
}
