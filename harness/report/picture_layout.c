// SPDX-License-Identifier: GPL-2.0-only
/* Lays out a picture: its times, its addresses with folded gaps, and how far a reader must zoom in
 * to need each sample. */
#include "harness/report/picture_layout.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"

enum {
	/* Ranges with a smaller gap share a band: a page of the largest usual size. */
	FOLDED_GAP = 65536,
	/* Samples in no mapping share a band if they are in one page of the smallest size. */
	PAGE = 4096,
	/* A band around samples in no mapping is shown if it holds 1 of this many samples. */
	GUESSED_SHARE = 100,
};

static int add_band(struct jp_picture_bands *bands, struct jp_picture_band band)
{
	return jp_array_append(&bands->list, &bands->count, &bands->capacity, band);
}

static int add_bands(struct jp_picture_bands *bands, const struct jp_picture_boxes *boxes)
{
	int failed = 0;

	for (size_t i = 0; i < boxes->count && !failed; i++) {
		const struct jp_picture_box *box = &boxes->list[i];
		const uint64_t size = jp_min(box->size, UINT64_MAX - box->addr);

		failed = add_band(bands, (struct jp_picture_band){.start = box->addr,
								  .end = box->addr + size,
								  .in_file = box->in_file});
	}
	return failed;
}

/* Returns whether @next must be merged into @last. Unless they overlap, emitted code and files have
 * separate bands, because emitted code would be too small to see in a library's band. */
static bool continues(const struct jp_picture_band *last, const struct jp_picture_band *next)
{
	return next->start < last->end ||
	       (next->in_file == last->in_file && next->start - last->end <= FOLDED_GAP);
}

static void merge_bands(struct jp_picture_bands *bands)
{
	size_t nr_kept = 0;

	/* The start is the first member. */
	jp_sort(bands->list, bands->count, jp_compare_by_value);
	for (size_t i = 0; i < bands->count; i++) {
		const struct jp_picture_band next = bands->list[i];
		struct jp_picture_band *last = nr_kept ? &bands->list[nr_kept - 1] : NULL;

		if (last && continues(last, &next)) {
			last->end = jp_max(last->end, next.end);
			last->in_file &= next.in_file;
			last->guessed &= next.guessed;
		} else {
			bands->list[nr_kept++] = next;
		}
	}
	bands->count = nr_kept;
}

size_t jp_picture_find_band(const struct jp_picture_bands *bands, uint64_t addr)
{
	size_t i;

	jp_search(i, bands->count, bands->list[i].end <= addr);
	return i < bands->count && bands->list[i].start <= addr ? i : bands->count;
}

static void use_band(struct jp_picture_bands *bands, uint64_t addr)
{
	size_t band = jp_picture_find_band(bands, addr);

	if (band < bands->count)
		bands->list[band].used++;
}

/* Adds the pages of user samples that are in no band. Returns 0 or -ENOMEM. */
static int guess_bands(const struct jp_picture *picture, struct jp_picture_bands *bands)
{
	const size_t count = bands->count;
	int failed = 0;

	for (size_t i = 0; i < picture->nr_rows && !failed; i++) {
		const struct jp_picture_bands known_bands = {.list = bands->list, .count = count};
		const uint64_t page = picture->rows[i].ip & ~(uint64_t)(PAGE - 1);

		/* The picture does not contain the kernel's half of the address space. */
		if (page >> 63 || jp_picture_find_band(&known_bands, picture->rows[i].ip) < count)
			continue;
		failed = add_band(bands, (struct jp_picture_band){.start = page,
								  .end = page + PAGE,
								  .in_file = true,
								  .guessed = true});
	}
	merge_bands(bands);
	return failed;
}

/* Finds the bands that have samples, true code or emitted code. Returns 0 or -ENOMEM. */
static int find_bands(const struct jp_picture *picture, struct jp_picture_bands *bands)
{
	size_t nr_kept = 0;

	if (add_bands(bands, &picture->truth) || add_bands(bands, &picture->records))
		return -ENOMEM;
	merge_bands(bands);
	if (guess_bands(picture, bands))
		return -ENOMEM;
	for (size_t i = 0; i < picture->truth.count; i++)
		use_band(bands, picture->truth.list[i].addr);
	for (size_t i = 0; i < picture->nr_rows; i++)
		use_band(bands, picture->rows[i].ip);
	for (size_t i = 0; i < bands->count; i++)
		if (bands->list[i].guessed
			    ? bands->list[i].used >= picture->nr_rows / GUESSED_SHARE + 1
			    : bands->list[i].used > 0)
			bands->list[nr_kept++] = bands->list[i];
	bands->count = nr_kept;
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

	for (size_t i = 0; i < picture->truth.count; i++)
		add_time(&times, picture->truth.list[i].start_time);
	for (size_t i = 0; i < picture->records.count; i++)
		add_time(&times, picture->records.list[i].start_time);
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

/* Number of columns of cells in the whole picture, and of lines of cells in a band, at level 0.
 * Each further level doubles both numbers. */
enum { COLUMNS = 256, LINES = 64, LEVELS = 10 };

/* A cell shows only one row of each process, method and verdict. */
struct picture_cell {
	uint64_t column, line;
	size_t band, pid, method, verdict;
	uint64_t level;
};

static struct picture_cell find_cell(const struct jp_picture_layout *layout,
				     const struct jp_picture_row *row, uint64_t level)
{
	const size_t band = jp_picture_find_band(&layout->bands, row->ip);
	struct picture_cell cell = {.band = band,
				    .pid = row->pid,
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

/* Finds, for each row, the lowest level at which the row is the first in its cell. Returns 0 or
 * -ENOMEM. */
static int find_levels(const struct jp_picture *picture, struct jp_picture_layout *layout)
{
	struct jp_text_pool cells = {0};
	int failed = 0;

	layout->levels = calloc(picture->nr_rows + 1, 1);
	if (!layout->levels)
		return -ENOMEM;
	for (size_t i = 0; i < picture->nr_rows && !failed; i++) {
		size_t nr_before;

		do {
			const struct picture_cell cell =
				find_cell(layout, &picture->rows[i], layout->levels[i]);

			nr_before = cells.count;
			failed = jp_text_keep(&cells, &cell, sizeof(cell)) ? 0 : -ENOMEM;
		} while (!failed && cells.count == nr_before && ++layout->levels[i] < LEVELS);
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
