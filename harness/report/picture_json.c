// SPDX-License-Identifier: GPL-2.0-only
/* Folds the gaps between a picture's addresses, and writes it as compact columns. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/report/picture.h"

/* Ranges with a smaller gap share a band: a page of the largest usual size. */
enum { FOLDED_GAP = 65536 };

/* A band: a range of addresses without large gaps. */
struct picture_band {
	uint64_t start, end;
	bool used;
};

struct picture_bands {
	struct picture_band *list;
	size_t count, capacity;
};

static int add_bands(struct picture_bands *bands, const struct jp_picture_box *boxes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct picture_band *band =
			jp_array_push(&bands->list, &bands->count, &bands->capacity);

		if (!band)
			return -ENOMEM;
		band->start = boxes[i].addr;
		band->end = boxes[i].addr + jp_min(boxes[i].size, UINT64_MAX - boxes[i].addr);
	}
	return 0;
}

static void merge_bands(struct picture_bands *bands)
{
	size_t kept = 0;

	/* The start is the first member. */
	if (bands->count)
		qsort(bands->list, bands->count, sizeof(*bands->list), jp_by_value);
	for (size_t i = 0; i < bands->count; i++) {
		struct picture_band *last = kept ? &bands->list[kept - 1] : NULL;

		if (last && (bands->list[i].start <= last->end ||
			     bands->list[i].start - last->end <= FOLDED_GAP))
			last->end = jp_max(last->end, bands->list[i].end);
		else
			bands->list[kept++] = bands->list[i];
	}
	bands->count = kept;
}

/* Returns the band of @addr, or the number of bands if it is in none. */
static size_t find_band(const struct picture_bands *bands, uint64_t addr)
{
	size_t i;

	jp_search(i, bands->count, bands->list[i].end <= addr);
	return i < bands->count && bands->list[i].start <= addr ? i : bands->count;
}

static void use_band(struct picture_bands *bands, uint64_t addr)
{
	size_t band = find_band(bands, addr);

	if (band < bands->count)
		bands->list[band].used = true;
}

/* Finds the bands that have samples, true code or emitted code. Returns 0 or -ENOMEM. */
static int find_bands(const struct jp_picture *picture, struct picture_bands *bands)
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

/* The times of a picture: from the first event with a time to the last, in ns. */
struct picture_times {
	uint64_t first, last;
	uint64_t attached; /* when records without a time came */
};

static void add_time(struct picture_times *times, uint64_t time)
{
	if (!time || time == UINT64_MAX)
		return;
	times->first = jp_min(times->first, time);
	times->last = jp_max(times->last, time);
}

static struct picture_times find_times(const struct jp_picture *picture)
{
	struct picture_times times = {.first = UINT64_MAX};

	for (size_t i = 0; i < picture->nr_truth; i++)
		add_time(&times, picture->truth[i].from);
	for (size_t i = 0; i < picture->nr_records; i++)
		add_time(&times, picture->records[i].from);
	for (size_t i = 0; i < picture->nr_rows; i++)
		add_time(&times, picture->rows[i].time);
	for (size_t i = 0; i < picture->nr_marks; i++)
		add_time(&times, picture->marks[i].time);
	times.attached = picture->attached;
	return times.last ? times : (struct picture_times){0};
}

/* Returns @time in us since the start, within the picture. */
static uint64_t convert_time(const struct picture_times *times, uint64_t time)
{
	return (jp_max(jp_min(time, times->last), times->first) - times->first) / 1000;
}

static void write_bands(struct jp_json *json, const struct picture_bands *bands)
{
	jp_json_array(json, "bands");
	for (size_t i = 0; i < bands->count; i++) {
		char text[24];

		snprintf(text, sizeof(text), "%llx", (unsigned long long)bands->list[i].start);
		jp_json_object(json, NULL);
		jp_json_string(json, "start", text);
		jp_json_u64(json, "size", bands->list[i].end - bands->list[i].start);
		jp_json_end(json);
	}
	jp_json_end(json);
}

/* Writes each box in a band as [pid, band, offset, size, from, to, name, kind]. Returns the number
 * of others. */
static size_t write_boxes(struct jp_json *json, const char *key, const struct picture_bands *bands,
			  const struct picture_times *times, const struct jp_picture_box *boxes,
			  size_t count)
{
	size_t others = 0;

	jp_json_array(json, key);
	for (const struct jp_picture_box *box = boxes; box < boxes + count; box++) {
		size_t band = find_band(bands, box->addr);

		if (band == bands->count) {
			others++;
			continue;
		}
		jp_json_array(json, NULL);
		jp_json_u64(json, NULL, box->pid);
		jp_json_u64(json, NULL, band);
		jp_json_u64(json, NULL, box->addr - bands->list[band].start);
		jp_json_u64(json, NULL, box->size);
		jp_json_u64(json, NULL, convert_time(times, box->from ?: times->attached));
		jp_json_u64(json, NULL, convert_time(times, box->to));
		jp_json_u64(json, NULL, box->name);
		jp_json_u64(json, NULL, box->kind);
		jp_json_end(json);
	}
	jp_json_end(json);
	return others;
}

static void write_row(struct jp_json *json, const struct picture_bands *bands,
		      const struct picture_times *times, const struct jp_picture_row *row)
{
	const size_t band = find_band(bands, row->ip);

	jp_json_array(json, NULL);
	jp_json_u64(json, NULL, convert_time(times, row->time));
	jp_json_u64(json, NULL, row->pid);
	jp_json_u64(json, NULL, row->tid);
	jp_json_u64(json, NULL, band);
	jp_json_u64(json, NULL, band < bands->count ? row->ip - bands->list[band].start : 0);
	jp_json_u64(json, NULL, row->method);
	jp_json_u64(json, NULL, row->verdict);
	jp_json_u64(json, NULL, row->cause);
	jp_json_u64(json, NULL, row->seen);
	jp_json_u64(json, NULL, row->truth);
	jp_json_end(json);
}

static void write_marks(struct jp_json *json, const struct jp_picture *picture,
			const struct picture_times *times)
{
	jp_json_array(json, "marks");
	for (size_t i = 0; i < picture->nr_marks; i++) {
		jp_json_array(json, NULL);
		jp_json_u64(json, NULL, convert_time(times, picture->marks[i].time));
		jp_json_u64(json, NULL, picture->marks[i].pid);
		jp_json_u64(json, NULL, picture->marks[i].kind);
		jp_json_u64(json, NULL, picture->marks[i].text);
		jp_json_end(json);
	}
	jp_json_end(json);
}

static void write_pools(struct jp_json *json, const struct jp_picture *picture)
{
	jp_json_array(json, "strings");
	for (const struct jp_text *text = picture->strings.first; text; text = text->next)
		jp_json_string(json, NULL, text->bytes);
	jp_json_end(json);
	jp_json_array(json, "stacks");
	for (const struct jp_text *text = picture->stacks.first; text; text = text->next) {
		jp_json_array(json, NULL);
		for (size_t i = 0; i < text->size; i += sizeof(uint32_t)) {
			uint32_t name;

			memcpy(&name, text->bytes + i, sizeof(name));
			jp_json_u64(json, NULL, name);
		}
		jp_json_end(json);
	}
	jp_json_end(json);
}

int jp_picture_write(const struct jp_picture *picture, const char *name, struct jp_json *json)
{
	const struct picture_times times = find_times(picture);
	struct picture_bands bands = {0};
	size_t others;

	if (find_bands(picture, &bands)) {
		free(bands.list);
		return -ENOMEM;
	}
	jp_json_object(json, NULL);
	jp_json_string(json, "name", name);
	jp_json_bool(json, "has_truth", picture->has_truth);
	jp_json_u64(json, "samples", picture->samples);
	jp_json_u64(json, "one_of", picture->stride + 1);
	jp_json_u64(json, "length", (times.last - times.first) / 1000);
	write_bands(json, &bands);
	write_boxes(json, "truth", &bands, &times, picture->truth, picture->nr_truth);
	others =
		write_boxes(json, "records", &bands, &times, picture->records, picture->nr_records);
	jp_json_u64(json, "records_elsewhere", others);
	jp_json_array(json, "rows");
	for (size_t i = 0; i < picture->nr_rows; i++)
		write_row(json, &bands, &times, &picture->rows[i]);
	jp_json_end(json);
	write_marks(json, picture, &times);
	write_pools(json, picture);
	jp_json_end(json);
	free(bands.list);
	return 0;
}
