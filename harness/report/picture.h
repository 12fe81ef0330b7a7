/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/json.h"
#include "harness/base/text_pool.h"
#include "harness/explain/explain.h"
#include "harness/judge/listener.h"
#include "harness/report/picture_ends.h"
#include "harness/report/picture_stacks.h"

enum {
	/* Largest number of sample rows in a picture, and largest number of stacks while it grows:
	 * a page with so many has less than 5 MB. */
	JP_PICTURE_ROWS = 100000,
	JP_PICTURE_STACKS = 60000,
};

/* A sample, walked by one method. */
struct jp_picture_row {
	uint64_t time, ip, sample; /* @sample: number of the sample in the file */
	uint32_t pid;
	size_t thread;                 /* number of a thread */
	size_t method, verdict, cause; /* numbers of strings */
	size_t nr_recorded, nr_true;   /* numbers of stacks */
};

struct jp_picture_mark {
	uint64_t time;
	uint32_t pid;
	size_t kind, text; /* numbers of strings */
};

struct jp_picture_thread {
	uint32_t pid, tid;
};

/* A picture of one capture: addresses over time (docs/report-format.md). Starts as all zero. */
struct jp_picture {
	struct jp_text_pool strings;
	struct jp_text_pool stacks;  /* struct jp_picture_frame; number 0 is the empty stack */
	struct jp_text_pool threads; /* struct jp_picture_thread */
	struct jp_picture_boxes truth, records;
	struct jp_picture_ends mapping_ends; /* of the mappings of @records */
	struct jp_picture_boxes loads; /* published code; without times if a perf map lists it */
	struct jp_picture_row *rows;
	size_t nr_rows, rows_capacity;
	struct jp_picture_mark *marks;
	size_t nr_marks, marks_capacity;
	uint64_t samples, stride; /* one of @stride + 1 samples is kept */
	uint64_t attached; /* when the capture began and read existing mappings; 0: unknown */
	bool has_truth;
	bool undecided; /* the sample of the last row has no verdict yet */
};

/* Returns a listener that draws a judged case into @picture. */
struct jp_listener jp_picture_listener(struct jp_picture *picture);
/* Draws one event of a file without truth. Has the type of jp_explain_options.handle. */
int jp_picture_draw_event(void *picture, struct jp_replay *spaces, struct jp_names *names,
			  const struct jp_event *event, const struct jp_stack *stack);
/* Draws the perf maps of all processes of the picture. Has the type of jp_explain_options.name. */
int jp_picture_draw_perf_maps(void *picture, struct jp_names *names);
/* Ends the records of @picture, and adds it to @json as an object with the name @name. Returns 0 or
 * -ENOMEM. */
int jp_picture_write(struct jp_picture *picture, const char *name, struct jp_json *json);
/* Drops every second kept sample until at most @rows rows are left. Returns 0 or -ENOMEM. */
int jp_picture_drop_every_second(struct jp_picture *picture, size_t rows);
void jp_picture_free(struct jp_picture *picture);
