/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/report/picture.h"

/* A band: a range of addresses without large gaps. */
struct jp_picture_band {
	uint64_t start, end;
	size_t used;  /* number of boxes and samples in the band */
	bool in_file; /* the band has only files' mappings, no emitted code */
	bool guessed; /* the band surrounds samples that are in no mapping */
};

/* The range of times in a picture: of the first and the last event with a time, in ns. */
struct jp_picture_times {
	uint64_t first, last;
	uint64_t attached; /* the time of records that have no time of their own */
};

struct jp_picture_layout {
	struct jp_picture_times times;
	struct jp_picture_bands {
		struct jp_picture_band *list; /* bands with content, in address order */
		size_t count, capacity;
	} bands;
	/* By row: 0 if the unscaled picture shows the row; else how many times a reader must double
	 * the scale until the row no longer falls into the same cell as an earlier, equal row. */
	uint8_t *levels;
};

/* Computes the layout of @picture. Returns 0 or -ENOMEM; free @layout in both cases. */
int jp_picture_lay_out(const struct jp_picture *picture, struct jp_picture_layout *layout);
void jp_picture_layout_free(struct jp_picture_layout *layout);
/* Returns the index of the band that contains @addr, or bands->count if no band does. */
size_t jp_picture_find_band(const struct jp_picture_bands *bands, uint64_t addr);
/* Returns @time in microseconds since times->first, limited to the picture's times. */
uint64_t jp_picture_time(const struct jp_picture_times *times, uint64_t time);
