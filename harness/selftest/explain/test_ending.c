// SPDX-License-Identifier: GPL-2.0-only
/* Detecting callchains of full length that repeat in a circle of emitted code. */
#include "harness/explain/ending.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_events.h"

enum { PID = 9, CODE = 0x1000, SIZE = 0x1000, MOST = 12, PERIODS = 4 };

static struct jp_codes codes;
static struct jp_places_process *process;

/* Returns whether more than the last half of @frames repeats with a short period. */
static bool tail_repeats(const uint64_t *frames, int count)
{
	for (int period = 1; period <= PERIODS; period++) {
		int same = 0;

		while (same < count - period &&
		       frames[count - 1 - same] == frames[count - 1 - same - period])
			same++;
		if (2 * same > count)
			return true;
	}
	return false;
}

static bool is_circle(const uint64_t *frames, int count)
{
	const struct jp_stack stack = {.method = JP_CHAIN,
				       .frames = frames,
				       .count = (uint64_t)count,
				       .stop = JP_UNWIND_MAX_STACK};
	struct jp_ending ending = {.addr = 0};

	jp_end_of_chain(&codes, process, &stack, &ending);
	return ending.circle;
}

/* Draws random chains of two addresses. is_circle() must not read frames[-1]. */
static void test_circles(void)
{
	uint64_t around[1 + MOST], seed = 1, *const frames = around + 1;
	int bad = 0, found = 0;

	for (int round = 0; round < 20000; round++) {
		const int count = 1 + (int)(check_random(&seed) % MOST);
		bool circle;

		for (int i = -1; i < count; i++)
			frames[i] = CODE + check_random(&seed) % 2;
		circle = is_circle(frames, count);
		bad += circle != tail_repeats(frames, count);
		found += circle;
	}
	check(!bad && found, "of %d circles and other chains %d are judged wrongly", found, bad);
	for (int i = -1; i < MOST; i++)
		frames[i] = CODE;
	check(!is_circle(frames, 2) && is_circle(frames, 3), "two frames are none, three are");
}

/* The first executable mapping of a process is its program, where threads begin. */
static void test_program(void)
{
	const struct jp_event events[] = {
		MADE_EVENT(COMM, PID + 1, 1, .comm = {.name = "a", .exec = true}),
		MADE_EVENT(MAP, PID + 1, 2,
			   MADE_MAP(2 * CODE, SIZE, JP_PROT_READ, "/usr/lib/locale/b")),
		MADE_EVENT(MAP, PID + 1, 3,
			   MADE_MAP(3 * CODE, SIZE, JP_PROT_READ | JP_PROT_EXEC, "/bin/a")),
	};
	struct jp_places_process *other = jp_places_get_process(codes.places, PID + 1);
	struct jp_stretch found;

	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (!other || jp_places_apply(codes.places, &events[i]))
			exit(99);
	jp_places_look_up(codes.places, other, 3 * CODE, &found);
	check(found.root && other->program_known && !strcmp(other->program, "/bin/a"),
	      "the program after a mapping of data is %s", other->program ?: "none");
}

TEST(ending)
{
	struct jp_replay *spaces = jp_replay_new();
	const struct jp_event map = MADE_EVENT(
		MAP, PID, 1, MADE_MAP(CODE, SIZE, JP_PROT_READ | JP_PROT_EXEC, "//anon"));

	codes.places = jp_places_new(spaces);
	process = codes.places ? jp_places_get_process(codes.places, PID) : NULL;
	if (!process || jp_places_apply(codes.places, &map))
		exit(99);
	jp_places_update_epoch(codes.places, process);
	test_circles();
	test_program();
	jp_map_free(&codes.files);
	jp_places_free(codes.places);
	jp_replay_free(spaces);
}
