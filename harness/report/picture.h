/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/json.h"
#include "harness/base/text_pool.h"
#include "harness/explain/explain.h"
#include "harness/judge/listener.h"
#include "harness/report/picture_stacks.h"

enum {
	/* Most rows of samples in a picture, and most stacks while it grows: a page with so many
	 * has less than 5 MB. */
	JP_PICTURE_ROWS = 100000,
	JP_PICTURE_STACKS = 60000,
};

/* A range of addresses over time: true code, a mapping record, or published code. */
struct jp_picture_box {
	uint32_t pid;
	uint64_t addr, size, from, to; /* to UINT64_MAX: until the end */
	size_t name;                   /* number of a string */
	size_t kind;                   /* the same */
	bool in_file;                  /* no emitted code */
	uint64_t hidden;               /* when a record came that hides the code; 0: never */
	size_t hider;                  /* number of a string: that record's name */
};

/* A sample, walked by one method. */
struct jp_picture_row {
	uint64_t time, ip, sample; /* sample: number in the file */
	uint32_t pid;
	size_t thread;                 /* number of a thread */
	size_t method, verdict, cause; /* numbers of strings */
	size_t seen, truth;            /* numbers of stacks */
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
	struct jp_picture_box *truth, *records;
	size_t nr_truth, truth_capacity, nr_records, records_capacity;
	struct jp_picture_box *loads; /* those of a perf map have no times */
	size_t nr_loads, loads_capacity;
	struct jp_picture_row *rows;
	size_t nr_rows, rows_capacity;
	struct jp_picture_mark *marks;
	size_t nr_marks, marks_capacity;
	uint64_t samples, stride; /* stride: one sample of so many is kept, less 1 */
	uint64_t attached;        /* when the capture began, and read older state; 0: unknown */
	bool has_truth;
	bool undecided; /* the last row is of a sample without a verdict so far */
};

/* Returns a listener that draws a judged case into @picture. */
struct jp_listener jp_picture_listener(struct jp_picture *picture);
/* Draws one event of a file without truth; a handler of struct jp_explain_options. */
int jp_picture_explained(void *picture, struct jp_replay *spaces, struct jp_names *names,
			 const struct jp_event *event, const struct jp_stack *stack);
/* Draws the perf maps of all processes of the picture; a handler of struct jp_explain_options. */
int jp_picture_maps(void *picture, struct jp_names *names);
/* Writes the picture, called @name, as an object. Returns 0 or -ENOMEM. */
int jp_picture_write(const struct jp_picture *picture, const char *name, struct jp_json *json);
/* Drops every second kept sample until at most @rows rows are left. Returns 0 or -ENOMEM. */
int jp_picture_thin(struct jp_picture *picture, size_t rows);
void jp_picture_free(struct jp_picture *picture);
