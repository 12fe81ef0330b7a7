// SPDX-License-Identifier: GPL-2.0-only
/* Queries for the boxes that meet a given box, compared with a scan of all boxes. */
#include "harness/base/boxes.h"

#include "harness/selftest/support/growth.h"

enum { BOXES = 300, OWNERS = 3, PLACES = 40, TIMES = 50 };

static struct jp_box make_random_box(uint64_t *seed)
{
	const uint64_t start = check_random(seed) % PLACES, from = check_random(seed) % TIMES;

	return (struct jp_box){.start = start,
			       .end = start + check_random(seed) % (PLACES / 4),
			       .start_time = from,
			       .end_time = check_random(seed) % 3 ? from + check_random(seed) % 10
								  : UINT64_MAX};
}

static void check_query(const struct jp_boxes *boxes, const struct jp_box *list,
			const struct jp_box *box, uint32_t owner)
{
	unsigned char was_found[BOXES] = {0};
	size_t nr_wrong = 0, item;

	for (size_t cursor = 0; jp_boxes_find_next(boxes, owner, box, &cursor, &item);)
		was_found[item]++;
	for (size_t i = 0; i < BOXES; i++)
		nr_wrong += was_found[i] !=
			    (i % OWNERS == owner && list[i].start < box->end &&
			     box->start < list[i].end && list[i].start_time <= box->end_time &&
			     box->start_time <= list[i].end_time);
	check(!nr_wrong, "each box that meets is found once and no other: %zu are wrong", nr_wrong);
}

static void test_random_boxes(uint64_t seed)
{
	struct jp_boxes boxes = {0};
	struct jp_box boxes_made[BOXES];

	for (size_t i = 0; i < BOXES; i++) {
		boxes_made[i] = make_random_box(&seed);
		check(!jp_boxes_add(&boxes, i % OWNERS, &boxes_made[i], i), "box %zu is added", i);
	}
	jp_boxes_build(&boxes);
	for (size_t i = 0; i < BOXES; i++) {
		const struct jp_box box = make_random_box(&seed);

		check_query(&boxes, boxes_made, &box, check_random(&seed) % OWNERS);
	}
	jp_boxes_free(&boxes);
	check(!boxes.nodes && !boxes.count, "the freed set is empty");
}

static struct jp_box (*make_box)(uint64_t i);

/* Queries once for each of @count boxes, and finds at most two boxes per query. */
static void query_all(size_t count)
{
	struct jp_boxes boxes = {0};
	size_t item, nr_found = 0;
	int failed = 0;

	start_cost();
	for (uint64_t i = 0; i < count; i++) {
		const struct jp_box box = make_box(i);

		failed |= jp_boxes_add(&boxes, 1, &box, i);
	}
	jp_boxes_build(&boxes);
	for (uint64_t i = 0; i < count; i++) {
		const struct jp_box box = make_box(i);

		for (size_t cursor = 0; jp_boxes_find_next(&boxes, 1, &box, &cursor, &item);)
			nr_found++;
	}
	end_cost();
	check(!failed && nr_found <= 2 * count, "queries of %zu boxes find only %zu", count,
	      nr_found);
	jp_boxes_free(&boxes);
}

/* Returns box @i of many: side by side, in mixed order of addresses, valid for ever. */
static struct jp_box make_side_by_side(uint64_t i)
{
	const uint64_t start = i * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	return (struct jp_box){
		.start = start, .end = start + 1, .start_time = i, .end_time = UINT64_MAX};
}

/* Returns box @i of many: all at one address, one after the other in time. */
static struct jp_box make_in_one_place(uint64_t i)
{
	return (struct jp_box){.start = 1, .end = 2, .start_time = 2 * i, .end_time = 2 * i + 1};
}

/* Returns box @i of many: at each of a hundred addresses, one after the other in time. */
static struct jp_box make_in_places(uint64_t i)
{
	return (struct jp_box){.start = i % 100,
			       .end = i % 100 + 1,
			       .start_time = 2 * (i / 100),
			       .end_time = 2 * (i / 100) + 1};
}

TEST(boxes)
{
	const struct jp_box whole_space = {.end = UINT64_MAX, .end_time = UINT64_MAX};
	struct jp_boxes boxes = {0};
	size_t cursor = 0, item;

	jp_boxes_build(&boxes);
	check(!jp_boxes_find_next(&boxes, 0, &whole_space, &cursor, &item),
	      "nothing in an empty set");
	check(jp_boxes_add(&boxes, 0, &whole_space, UINT32_MAX), "no element is so many");
	for (uint64_t seed = 1; seed <= 5; seed++)
		test_random_boxes(seed);
	make_box = make_side_by_side;
	check_growth("boxes side by side", query_all);
	make_box = make_in_one_place;
	check_growth("boxes after each other", query_all);
	make_box = make_in_places;
	check_growth("boxes in many places", query_all);
}
