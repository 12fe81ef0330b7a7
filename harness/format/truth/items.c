// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/truth/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Facts that take several records, and whatever else has an id. Records of one fact may lie apart;
 * a fact with a part missing, doubled or contradicting is torn as a whole.
 */

static uint32_t id_of(const struct jp_truth_record *record)
{
	return (uint32_t)(record->type == JP_TRUTH_CODE_LOAD ? record->a[3] : record->a[0]);
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

static int by_id_and_part(const void *a, const void *b)
{
	const struct jp_truth_record *one = *(struct jp_truth_record *const *)a;
	const struct jp_truth_record *other = *(struct jp_truth_record *const *)b;
	uint32_t id = id_of(one), other_id = id_of(other);

	if (id != other_id)
		return id < other_id ? -1 : 1;
	if (one->part != other->part)
		return one->part < other->part ? -1 : 1;
	return one < other ? -1 : one > other;
}

/* Copies the data of @count parts; NULL when out of memory. */
static void *gather(struct jp_truth *truth, struct jp_truth_record **part, size_t count)
{
	const size_t capacity = 3 * sizeof(uint64_t);
	char *data = jp_truth_alloc(truth, count, capacity);

	for (size_t i = 0; data && i < count; i++)
		memcpy(data + i * capacity, &part[i]->a[1], capacity);
	return data;
}

static struct jp_truth_layout *make_layout(struct jp_truth *truth, uint32_t id,
					   struct jp_truth_insn *insns, uint32_t count)
{
	struct jp_truth_layout *layout = jp_truth_alloc(truth, 1, sizeof(*layout));

	if (!layout)
		return NULL;
	layout->id = id;
	layout->insns = insns;
	layout->returns = layout->tail = UINT32_MAX;
	for (uint32_t i = 0; i < count; i++) {
		struct jp_truth_insn *insn = &insns[i];
		bool returns = insn->bp & JP_INSN_RETURN, tail = insn->bp & JP_INSN_TAIL;

		insn->bp &= ~(JP_INSN_RETURN | JP_INSN_TAIL);
		/* One way to the next function. */
		if ((i && insn->offset <= insn[-1].offset) ||
		    (insn->bp & ~JP_INSN_MISLED) >= JP_BPS || insn->align > 16 ||
		    ((returns || tail) &&
		     (returns == tail || (layout->returns & layout->tail) != UINT32_MAX)))
			return layout; /* count stays 0: not a layout */
		if (returns)
			layout->returns = i;
		if (tail)
			layout->tail = i;
	}
	layout->count = count;
	return layout;
}

static int make_frames(struct jp_truth *truth, const struct jp_truth_record *record,
		       struct jp_truth_item *item)
{
	struct jp_truth_frames *frames = jp_truth_alloc(truth, 1, sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	if (record->a[0] >> 32 >= JP_CFI_STATUSES)
		return 0;
	*frames = (struct jp_truth_frames){.id = item->id,
					   .cfi_status = record->a[0] >> 32,
					   .vdso = record->a[3] & JP_FRAMES_VDSO,
					   .word = record->a[1]};
	item->of.frames = frames;
	return 1;
}

/* Frames name the root that they lead to: once all facts are there. */
static void build_detours(struct jp_truth *truth, struct jp_truth_record *const *parts,
			  size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct jp_truth_item *frames, *root;

		if (parts[i]->type != JP_TRUTH_FRAMES || !parts[i]->a[2])
			continue;
		frames = jp_truth_item(truth, id_of(parts[i]), JP_TRUTH_FRAMES);
		root = jp_truth_item(truth, parts[i]->a[2], JP_TRUTH_ROOT);
		if (!frames)
			continue;
		if (!root || root->of.root->method != JP_CHAIN)
			jp_truth_mark_corrupt(truth);
		else
			frames->of.frames->detour = root->of.root;
	}
}

/* 1: a fact; 0: torn; -ENOMEM. */
static int assemble(struct jp_truth *truth, struct jp_truth_record **part, size_t count,
		    struct jp_truth_item *item)
{
	static const size_t per_part[JP_TRUTH_TYPES] = {[JP_TRUTH_TEXT] = 24,
							[JP_TRUTH_LAYOUT] = 2,
							[JP_TRUTH_PATH] = 6,
							[JP_TRUTH_ROOT] = 3};
	const struct jp_truth_record *first = part[0];
	uint64_t total = first->a[0] >> 32, parts;
	enum jp_method method = first->a[0] >> 32 & 0xff;
	void *data;

	item->id = id_of(first);
	item->is = first->type;
	if (!item->id)
		return 0;
	if (first->type == JP_TRUTH_CODE_LOAD) {
		item->of.load = first;
		return count == 1 && first->part == 0;
	}
	if (first->type == JP_TRUTH_FRAMES)
		return count == 1 && first->part == 0 ? make_frames(truth, first, item) : 0;
	if (first->type == JP_TRUTH_ROOT)
		total >>= 8;
	parts = (total + per_part[first->type] - 1) / per_part[first->type];
	if (count != (parts ? parts : 1))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (part[i]->part != i || part[i]->type != first->type ||
		    part[i]->a[0] != first->a[0] || part[i]->pid != first->pid)
			return 0;
	data = gather(truth, part, count);
	if (!data)
		return -ENOMEM;
	switch (first->type) {
	case JP_TRUTH_TEXT: {
		char *text = jp_truth_alloc(truth, total + 1, 1);

		if (!text)
			return -ENOMEM;
		memcpy(text, data, total);
		item->of.text = text;
		return 1;
	}
	case JP_TRUTH_LAYOUT:
		item->of.layout = make_layout(truth, item->id, data, total);
		if (!item->of.layout)
			return -ENOMEM;
		return item->of.layout->count > 0;
	case JP_TRUTH_PATH:
		item->of.path.functions = data;
		item->of.path.depth = total;
		return total > 0;
	default:
		if (method >= JP_ROOTS)
			return 0;
		item->of.root = jp_truth_alloc(truth, 1, sizeof(*item->of.root));
		if (!item->of.root)
			return -ENOMEM;
		item->of.root->id = item->id;
		item->of.root->method = method;
		item->of.root->count = total;
		item->of.root->frames = data;
		return 1;
	}
}

int jp_truth_items(struct jp_truth *truth)
{
	struct jp_truth_tables *tables = truth->tables;
	struct jp_truth_record **parts = calloc(tables->nr_believed + 1, sizeof(*parts));
	size_t count = 0;
	int ret = 0;

	tables->items = calloc(tables->nr_believed + 1, sizeof(*tables->items));
	if (!parts || !tables->items) {
		free(parts);
		return -ENOMEM;
	}
	for (size_t i = 0; i < tables->nr_believed; i++)
		if (has_id(tables->believed[i]))
			parts[count++] = tables->believed[i];
	qsort(parts, count, sizeof(*parts), by_id_and_part);
	for (size_t i = 0, n; i < count && ret >= 0; i += n) {
		for (n = 1; i + n < count && id_of(parts[i + n]) == id_of(parts[i]);)
			n++;
		ret = assemble(truth, parts + i, n, &tables->items[tables->nr_items]);
		if (ret > 0)
			tables->nr_items++;
		else if (!ret)
			truth->torn++; /* a gap only if something refers to it */
	}
	if (ret >= 0)
		build_detours(truth, parts, count);
	free(parts);
	return ret < 0 ? ret : 0;
}

const struct jp_truth_item *jp_truth_item(const struct jp_truth *truth, uint64_t id,
					  enum jp_truth_type is)
{
	const struct jp_truth_item *items = truth->tables->items;
	size_t low = 0, high = truth->tables->nr_items;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (items[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == truth->tables->nr_items || items[low].id != id || items[low].is != is)
		return NULL;
	return &items[low];
}

const char *jp_truth_text_of(const struct jp_truth *truth, uint32_t id)
{
	const struct jp_truth_item *item;

	if (!id)
		return "";
	item = jp_truth_item(truth, id, JP_TRUTH_TEXT);
	return item ? item->of.text : NULL;
}
