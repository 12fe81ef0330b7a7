/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"
#include "harness/model/oracle/truth.h"

/* A range of addresses over time: true code, a mapping record, or published code. */
struct jp_picture_box {
	uint32_t pid;
	uint64_t addr, size, start_time,
		end_time;   /* @end_time UINT64_MAX: until the end of the picture */
	size_t name;        /* number of a string */
	size_t kind;        /* number of a string */
	bool in_file;       /* the range maps a file and is not emitted code */
	uint64_t hidden_at; /* time of a record that hides the code; 0: none */
	size_t hider;       /* number of a string: the name in that record */
};

/* Starts as all zero. */
struct jp_picture_boxes {
	struct jp_picture_box *list;
	size_t count, capacity;
};

/* Adds a copy of @box. Returns 0 or -ENOMEM. */
int jp_picture_boxes_add(struct jp_picture_boxes *boxes, const struct jp_picture_box *box);

/* A range of addresses whose older mappings ended at @time: it was unmapped, moved or mapped again,
 * or its process called exec or exited. */
struct jp_picture_end {
	uint32_t pid;
	uint64_t addr, end, time;
};

/* Collects the ends of mappings. Starts as all zero. */
struct jp_picture_ends {
	struct jp_picture_end *list; /* @of_truth by the truth, then those by the capture */
	size_t count, capacity, of_truth;
	struct jp_map exits; /* from pid to struct process_exit */
};

/* Collects what @event of a capture ends. Returns 0 or -ENOMEM. */
int jp_picture_ends_handle(struct jp_picture_ends *ends, const struct jp_event *event);
/* Collects what munmap() and mremap() ended, which no record of a capture reports. Call this before
 * jp_picture_ends_handle(). Returns 0 or -ENOMEM. */
int jp_picture_ends_add_truth(struct jp_picture_ends *ends, const struct jp_truth *truth);

/* Lets each mapping record end when its memory was unmapped, moved or mapped again, or when its
 * process called exec or exited, unless that was after @last. Parts that munmap() leaves become
 * records of their own. Records without a time count from @attached on. Returns 0 or -ENOMEM. */
int jp_picture_ends_apply(struct jp_picture_ends *ends, struct jp_picture_boxes *records,
			  uint64_t attached, uint64_t last);
void jp_picture_ends_free(struct jp_picture_ends *ends);
