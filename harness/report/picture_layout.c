// SPDX-License-Identifier: GPL-2.0-only
/* Lays out a picture: its times, its addresses with folded gaps, and how far a reader must zoom in
 * to need each sample. */
#include "harness/report/picture_layout.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/search.h"

/* Ranges with a smaller gap share a band: a page of the largest usual size. */
enum { FOLDED_GAP = 65536 };

static int add_bands(struct jp_picture_bands *bands, const struct jp_picture_box *boxes,
		     size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct jp_picture_band *band =
			jp_array_push(&bands->list, &bands->count, &bands->capacity);

		if (!band)
			return -ENOMEM;
		band->start = boxes[i].addr;
		band->end = boxes[i].addr + jp_min(boxes[i].size, UINT64_MAX - boxes[i].addr);
	}
	return 0;
}

static void merge_bands(struct jp_picture_bands *bands)
{
	size_t kept = 0;

	/* The start is the first member. */
	if (bands->count)
		qsort(bands->list, bands->count, sizeof(*bands->list), jp_by_value);
	for (size_t i = 0; i < bands->count; i++) {
		struct jp_picture_band *last = kept ? &bands->list[kept - 1] : NULL;

		if (last && (bands->list[i].start <= last->end ||
			     bands->list[i].start - last->end <= FOLDED_GAP))
			last->end = jp_max(last->end, bands->list[i].end);
		else
			bands->list[kept++] = bands->list[i];
	}
	bands->count = kept;
}

size_t jp_picture_band(const struct jp_picture_bands *bands, uint64_t addr)
{
	size_t i;

	jp_search(i, bands->count, bands->list[i].end <= addr);
	return i < bands->count && bands->list[i].start <= addr ? i : bands->count;
}

static void use_band(struct jp_picture_bands *bands, uint64_t addr)
{
	size_t band = jp_picture_band(bands, addr);

	if (band < bands->count)
		bands->list[band].used = true;
}

/* Finds the bands that have samples, true code or emitted code. Returns 0 or -ENOMEM. */
static int find_bands(const struct jp_picture *picture, struct jp_picture_bands *bands)
{
	size_t kept = 0;

	if (add_bands(bands, picture->truth, picture->nr_truth) ||
	    add_bands(bands, picture->records, picture->nr_records))
		return -ENOMEM;
	merge_bands(bands);
	for (size_t i = 0; i < picture->nr_truth; i++)
		use_band(bands, picture->truth[i].addr);
	for (size_t i = 0; i < picture->nr_rows; i++)
		use_band(bands, picture->rows[i].ip);
	for (size_t i = 0; i < bands->count; i++)
		if (bands->list[i].used)
			bands->list[kept++] = bands->list[i];
	bands->count = kept;
	return 0;
}

static void add_time(struct jp_picture_times *times, uint64_t time)
{
	if (!time || time == UINT64_MAX)
		return;
	times->first = jp_min(times->first, time);
	times->last = jp_max(times->last, time);
}

static struct jp_picture_times find_times(const struct jp_picture *picture)
{
	struct jp_picture_times times = {.first = UINT64_MAX};

	for (size_t i = 0; i < picture->nr_truth; i++)
		add_time(&times, picture->truth[i].from);
	for (size_t i = 0; i < picture->nr_records; i++)
		add_time(&times, picture->records[i].from);
	for (size_t i = 0; i < picture->nr_rows; i++)
		add_time(&times, picture->rows[i].time);
	for (size_t i = 0; i < picture->nr_marks; i++)
		add_time(&times, picture->marks[i].time);
	times.attached = picture->attached;
	return times.last ? times : (struct jp_picture_times){0};
}

uint64_t jp_picture_time(const struct jp_picture_times *times, uint64_t time)
{
	return (jp_max(jp_min(time, times->last), times->first) - times->first) / 1000;
}

/* Cells of the whole picture, and lines of a band. A level further, both are twice as many. */
enum { COLUMNS = 1024, LINES = 256, LEVELS = 10 };

/* A cell shows one row of each look and each thread. */
struct picture_cell {
	uint64_t column, line;
	size_t band, thread, method, verdict;
	uint64_t level;
};

static struct picture_cell find_cell(const struct jp_picture_layout *layout,
				     const struct jp_picture_row *row, uint64_t level)
{
	const size_t band = jp_picture_band(&layout->bands, row->ip);
	struct picture_cell cell = {.band = band,
				    .thread = row->thread,
				    .method = row->method,
				    .verdict = row->verdict,
				    .level = level};
	const double length = (double)jp_picture_time(&layout->times, UINT64_MAX) + 1;

	cell.column = (uint64_t)((double)jp_picture_time(&layout->times, row->time) / length *
				 (COLUMNS << level));
	if (band < layout->bands.count) {
		const struct jp_picture_band *range = &layout->bands.list[band];

		cell.line = (uint64_t)((double)(row->ip - range->start) /
				       (double)(range->end - range->start) * (LINES << level));
	}
	return cell;
}

/* Finds the first level at which each row is the first of its cell. Returns 0 or -ENOMEM. */
static int find_levels(const struct jp_picture *picture, struct jp_picture_layout *layout)
{
	struct jp_text_pool cells = {0};
	int failed = 0;

	layout->levels = calloc(picture->nr_rows + 1, 1);
	if (!layout->levels)
		return -ENOMEM;
	for (size_t i = 0; i < picture->nr_rows && !failed; i++) {
		size_t before;

		do {
			const struct picture_cell cell =
				find_cell(layout, &picture->rows[i], layout->levels[i]);

			before = cells.count;
			failed = jp_text_keep(&cells, &cell, sizeof(cell)) ? 0 : -ENOMEM;
		} while (!failed && cells.count == before && ++layout->levels[i] < LEVELS);
	}
	jp_text_pool_free(&cells);
	return failed;
}

int jp_picture_lay_out(const struct jp_picture *picture, struct jp_picture_layout *layout)
{
	*layout = (struct jp_picture_layout){.times = find_times(picture)};
	return find_bands(picture, &layout->bands) ?: find_levels(picture, layout);
}

void jp_picture_layout_free(struct jp_picture_layout *layout)
{
	free(layout->bands.list);
	free(layout->levels);
}
