// SPDX-License-Identifier: GPL-2.0-only
/* Writes a picture as compact arrays (docs/report-format.md). */
#include <string.h>

#include "harness/report/picture_layout.h"

static void write_bands(struct jp_json *json, const struct jp_picture_bands *bands)
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

static void write_values(struct jp_json *json, const uint64_t *values, size_t count)
{
	jp_json_array(json, NULL);
	for (size_t i = 0; i < count; i++)
		jp_json_u64(json, NULL, values[i]);
	jp_json_end(json);
}

/* Writes the boxes that lie in a band. Writes their hidden time and hider only if @hides. Then
 * writes the number of the other boxes as @others_key. */
static void write_boxes(struct jp_json *json, const char *key, const char *others_key,
			const struct jp_picture_layout *layout,
			const struct jp_picture_boxes *boxes, bool hides)
{
	uint64_t nr_others = 0;

	jp_json_array(json, key);
	for (const struct jp_picture_box *box = boxes->list; box < boxes->list + boxes->count;
	     box++) {
		const size_t band = jp_picture_find_band(&layout->bands, box->addr);
		const struct jp_picture_times *times = &layout->times;

		if (band == layout->bands.count) {
			nr_others++;
			continue;
		}
		write_values(
			json,
			(uint64_t[]){box->pid, band, box->addr - layout->bands.list[band].start,
				     box->size,
				     jp_picture_time(times, box->start_time ?: times->attached),
				     jp_picture_time(times, box->end_time), box->name, box->kind,
				     box->hidden_at ? jp_picture_time(times, box->hidden_at) : 0,
				     box->hider},
			hides ? 10 : 8);
	}
	jp_json_end(json);
	if (others_key)
		jp_json_u64(json, others_key, nr_others);
}

static void write_rows(struct jp_json *json, const struct jp_picture *picture,
		       const struct jp_picture_layout *layout)
{
	jp_json_array(json, "rows");
	for (size_t i = 0; i < picture->nr_rows; i++) {
		const struct jp_picture_row *row = &picture->rows[i];
		const size_t band = jp_picture_find_band(&layout->bands, row->ip);
		const uint64_t start =
			band < layout->bands.count ? layout->bands.list[band].start : row->ip;

		write_values(json,
			     (uint64_t[]){jp_picture_time(&layout->times, row->time), row->thread,
					  band, row->ip - start, row->method, row->verdict,
					  row->cause, row->nr_recorded, row->nr_true,
					  layout->levels[i]},
			     10);
	}
	jp_json_end(json);
}

static void write_marks(struct jp_json *json, const struct jp_picture *picture,
			const struct jp_picture_times *times)
{
	jp_json_array(json, "marks");
	for (size_t i = 0; i < picture->nr_marks; i++) {
		const struct jp_picture_mark *mark = &picture->marks[i];

		write_values(json,
			     (uint64_t[]){jp_picture_time(times, mark->time), mark->pid, mark->kind,
					  mark->text},
			     4);
	}
	jp_json_end(json);
}

/* Writes @pool, whose texts are pairs of uint32_t, as arrays; an empty text as [0, 0]. */
static void write_pairs(struct jp_json *json, const char *key, const struct jp_text_pool *pool)
{
	jp_json_array(json, key);
	for (const struct jp_text *text = pool->first; text; text = text->next) {
		uint32_t id_pair[2] = {0};

		memcpy(id_pair, text->bytes, text->size);
		write_values(json, (uint64_t[]){id_pair[0], id_pair[1]}, 2);
	}
	jp_json_end(json);
}

static void write_strings(struct jp_json *json, const struct jp_text_pool *strings)
{
	jp_json_array(json, "strings");
	for (const struct jp_text *text = strings->first; text; text = text->next)
		jp_json_string(json, NULL, text->bytes);
	jp_json_end(json);
}

static void write_picture(struct jp_json *json, const struct jp_picture *picture,
			  const struct jp_picture_layout *layout)
{
	jp_json_bool(json, "has_truth", picture->has_truth);
	jp_json_u64(json, "samples", picture->samples);
	jp_json_u64(json, "one_of", picture->stride + 1);
	jp_json_u64(json, "length", jp_picture_time(&layout->times, UINT64_MAX));
	write_bands(json, &layout->bands);
	write_boxes(json, "truth", NULL, layout, &picture->truth, false);
	write_boxes(json, "records", "records_elsewhere", layout, &picture->records, false);
	write_boxes(json, "loads", "loads_elsewhere", layout, &picture->loads, true);
	write_rows(json, picture, layout);
	write_marks(json, picture, &layout->times);
	write_pairs(json, "threads", &picture->threads);
	write_pairs(json, "stacks", &picture->stacks);
	write_strings(json, &picture->strings);
}

int jp_picture_write(struct jp_picture *picture, const char *name, struct jp_json *json)
{
	struct jp_picture_layout layout;
	const int failed =
		jp_picture_lay_out(picture, &layout)
			?: jp_picture_ends_apply(&picture->mapping_ends, &picture->records,
						 picture->attached, layout.times.last);

	if (!failed) {
		jp_json_object(json, NULL);
		jp_json_string(json, "name", name);
		write_picture(json, picture, &layout);
		jp_json_end(json);
	}
	jp_picture_layout_free(&layout);
	return failed;
}
