/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/truth/reader.h"

/* Private to harness/format/truth/: facts with an id, and the memory that events point to. */

struct jp_truth_region {
	struct jp_truth_region *next;
	size_t used, size;
	uint64_t bytes[];
};

/* A fact with an id. @type selects the member of @list. */
struct jp_truth_item {
	uint32_t id;
	enum jp_truth_type type; /* TEXT, LAYOUT, PATH, ROOT, CODE_LOAD, FRAMES */
	union {
		struct {
			const char *text;
			const char *memfd; /* name that a mapping of a memfd called @text has; NULL:
					      not built yet */
		};
		struct jp_truth_layout *layout;
		struct jp_truth_root *root;
		struct jp_truth_frames *frames;
		struct jp_truth_path_item path;
	} list;
};

struct jp_truth_items {
	struct jp_truth_region *region;
	struct jp_truth_record *slots;    /* all slots of the file; freed after the visit */
	struct jp_truth_record **records; /* valid records, by time; freed after the visit */
	size_t nr_records;
	struct jp_truth_item *items; /* sorted by id */
	size_t nr_items;
};

/* Allocates zeroed memory that lives as long as the reader. Returns NULL without memory. */
void *jp_truth_alloc(struct jp_truth_items *items, size_t count, size_t size);
/* Counts a committed fact that contradicts the format of the truth file. */
void jp_truth_mark_corrupt(struct jp_truth_reader *reader);
/* Assembles all facts that have an id. Returns 0 or -ENOMEM. */
int jp_truth_items_build(struct jp_truth_reader *reader);
/* Returns the item @id of @type, or NULL. */
struct jp_truth_item *jp_truth_find_item(const struct jp_truth_items *items, uint64_t id,
					 enum jp_truth_type type);
/* Returns the text @id: "" for 0, or NULL if there is none. */
const char *jp_truth_find_text(const struct jp_truth_items *items, uint64_t id);
/* Converts @record to *@event. Returns 1, 0 if it is no event or corrupt, or -ENOMEM. */
int jp_truth_unpack(struct jp_truth_reader *reader, const struct jp_truth_record *record,
		    struct jp_event *event);
