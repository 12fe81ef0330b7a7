/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdio.h>

#include "harness/explain/explain.h"
#include "harness/outcome/outcome.h"
#include "harness/report/picture.h"

/* The data of a page (docs/report-format.md) while it is being collected. Starts as all zero. */
struct jp_page_data {
	FILE *answers, *pictures; /* the two parts of the JSON text, in memory; joined at the end */
	char *answers_text, *pictures_text;
	size_t answers_size, pictures_size;
	struct jp_json answers_json, pictures_json;
	uint64_t left_out; /* cases without a picture */
	size_t cases;      /* number of the run's cases; 0: the page explains a single file */
	struct jp_picture picture;
	struct jp_listener listener; /* draws the current case or file into @picture */
};

/* Begins the page of a run of @cases cases, or, if @cases is 0, of one perf.data file. Returns 0 or
 * -ENOMEM. */
int jp_page_data_begin(struct jp_page_data *page, size_t cases);
/* Adds a judged case, which @page->listener followed. Returns 0 or -ENOMEM. */
int jp_page_data_add_case(struct jp_page_data *page, const struct jp_result *result);
/* Adds the file @path, which jp_picture_draw_event() followed with @page->picture. Returns 0 or
 * -ENOMEM. */
int jp_page_data_add_file(struct jp_page_data *page, const struct jp_explanation *explanation,
			  const char *path);
/* Returns all data as JSON, which the caller frees, or NULL if memory ran out. @source: the run
 * directory or file. */
char *jp_page_data_join(struct jp_page_data *page, const char *source);
void jp_page_data_free(struct jp_page_data *page);
