/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/truth/reader.h"

/* Private to harness/format/truth/: what has an id, and the memory that events point to. */

struct jp_truth_region {
	struct jp_truth_region *next;
	size_t used, size;
	uint64_t bytes[];
};

/* @is says what @of leads to. */
struct jp_truth_item {
	uint32_t id;
	enum jp_truth_type is; /* TEXT, LAYOUT, PATH, ROOT, CODE_LOAD, FRAMES */
	union {
		struct {
			const char *text;
			const char *
				memfd; /* the mapping's name where it is a memfd's; NULL: not yet */
		};
		struct jp_truth_layout *layout;
		struct jp_truth_root *root;
		struct jp_truth_frames *frames;
		struct jp_truth_path_item path;
	} of;
};

struct jp_truth_items {
	struct jp_truth_region *region;
	struct jp_truth_record *slots;     /* until they are visited */
	struct jp_truth_record **believed; /* by time; the same */
	size_t nr_believed;
	struct jp_truth_item *items; /* by id */
	size_t nr_items;
};

/* Zeroed, and lives as long as the reader; NULL when out of memory. */
void *jp_truth_alloc(struct jp_truth_items *items, size_t count, size_t size);
/* Counts a fact that is not believed although it is committed. */
void jp_truth_mark_corrupt(struct jp_truth_reader *reader);
/* Puts together the facts of several records. 0 or -ENOMEM. */
int jp_truth_items_build(struct jp_truth_reader *reader);
struct jp_truth_item *jp_truth_item(const struct jp_truth_items *items, uint64_t id,
				    enum jp_truth_type is);
/* "" for id 0; NULL where there is no such text. */
const char *jp_truth_text_of(const struct jp_truth_items *items, uint64_t id);
/* 1: @event is what @record says; 0: it is no event, or not believed; -ENOMEM. */
int jp_truth_unpack(struct jp_truth_reader *reader, const struct jp_truth_record *record,
		    struct jp_event *event);
