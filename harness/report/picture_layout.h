/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/report/picture.h"

/* A band: a range of addresses without large gaps. */
struct jp_picture_band {
	uint64_t start, end;
	size_t used;  /* what is in it */
	bool in_file; /* no emitted code */
	bool guessed; /* around samples that are in no mapping */
};

/* From the first event with a time to the last, in ns. */
struct jp_picture_times {
	uint64_t first, last;
	uint64_t attached; /* when records without a time came */
};

struct jp_picture_layout {
	struct jp_picture_times times;
	struct jp_picture_bands {
		struct jp_picture_band *list; /* those that are used, sorted */
		size_t count, capacity;
	} bands;
	/* Of each row: 0 if the whole picture shows it, else how many times a reader must double
	 * the scale before it is more than another row's double. */
	uint8_t *levels;
};

/* Returns 0 or -ENOMEM; then free @layout nevertheless. */
int jp_picture_lay_out(const struct jp_picture *picture, struct jp_picture_layout *layout);
void jp_picture_layout_free(struct jp_picture_layout *layout);
/* Returns the band of @addr, or the number of bands if it is in none. */
size_t jp_picture_band(const struct jp_picture_bands *bands, uint64_t addr);
/* Returns @time in us since the start, within the picture. */
uint64_t jp_picture_time(const struct jp_picture_times *times, uint64_t time);
