/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_TRUTH_TABLES_H
#define JP_TRUTH_TABLES_H

#include "harness/format/truth/read.h"

/* Private to harness/format/truth/: what the reader keeps beside the public tables. */

/* Memory that lives as long as the truth. */
struct jp_truth_region {
	struct jp_truth_region *next;
	size_t used, size;
	uint64_t bytes[];
};

/* What has an id: @is says what @of leads to. */
struct jp_truth_item {
	uint32_t id;
	enum jp_truth_type is; /* TEXT, LAYOUT, PATH, ROOT, CODE_LOAD, FRAMES */
	union {
		const char *text;
		struct jp_truth_layout *layout;
		struct jp_truth_root *root;
		struct jp_truth_frames *frames;
		struct {
			uint32_t *functions, depth;
		} path;
		const struct jp_truth_record *load;
	} of;
};

/* A hash table from uint64_t to uint32_t. Value 0 means absent. */
struct jp_truth_map {
	uint64_t *keys;
	uint32_t *values;
	size_t capacity, count;
};

struct jp_truth_tables {
	struct jp_truth_region *region;
	struct jp_truth_record *slots;     /* while loading */
	struct jp_truth_record **believed; /* while loading */
	size_t nr_believed;
	struct jp_truth_item *items; /* by id */
	size_t nr_items;
	uint64_t *code_reach; /* for codes[i]: the largest end of codes[..i] of the same pid */
};

/* Zeroed; NULL when out of memory. */
void *jp_truth_alloc(struct jp_truth *truth, size_t count, size_t size);
/* Grows @array (malloc'ed) for one more than @count elements; false when out of memory. */
bool jp_truth_grow(void **array, size_t *capacity, size_t count, size_t size);
/* A pointer to the value of @key (0 when new), or NULL when out of memory. */
uint32_t *jp_truth_map_at(struct jp_truth_map *map, uint64_t key);
void jp_truth_map_free(struct jp_truth_map *map);

/* Counts a fact that is not believed although it is committed. */
void jp_truth_mark_corrupt(struct jp_truth *truth);
/* Puts together the facts of several records. 0 or -ENOMEM. */
int jp_truth_items(struct jp_truth *truth);
const struct jp_truth_item *jp_truth_item(const struct jp_truth *truth, uint64_t id,
					  enum jp_truth_type is);
/* "" for id 0; NULL where there is no such text. */
const char *jp_truth_text_of(const struct jp_truth *truth, uint32_t id);
/* Adds a mapping, process or thread act, or a mark, to the table; *@capacity is what it has room
 * for.
 */
int jp_truth_add_act(struct jp_truth *truth, size_t *capacity,
		     const struct jp_truth_record *record);
/* Walks them for files alone. 0, -ENOMEM, or -E2BIG: more forked than a truth can hold. */
int jp_truth_build_files(struct jp_truth *truth);
/* Walks the records in time order and fills acts, codes, paths and activations. */
int jp_truth_collector(struct jp_truth *truth, const char *path, struct jp_error *err);

#endif
