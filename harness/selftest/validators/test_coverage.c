// SPDX-License-Identifier: GPL-2.0-only
/* Mapping coverage of many mappings: each is judged once, in a time that grows with their number.
 */
#include "harness/base/clock.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/growth.h"
#include "harness/selftest/support/judged.h"
#include "harness/selftest/support/made_events.h"

enum { PID = 5, SLACK = 10, BEGIN = 1000, STEP = 100, PAGE = 0x1000, PLAIN = JP_PROT_READ };
enum { RX = JP_PROT_READ | JP_PROT_EXEC };

/* What is mapped, and what the capture tells of that, the @i-th of @count. */
struct scene {
	const char *what, *metric;
	void (*make)(uint64_t i, uint64_t count, struct jp_event *act, struct jp_event *record);
	uint64_t (*found)(uint64_t count); /* of @metric */
};

static const struct scene *scene;

static void make(uint64_t place, uint64_t time, uint32_t prot, struct jp_event *act)
{
	*act = (struct jp_event)MADE_ACT(
		MAP, PID, PID, time, time,
		MADE_MAP(0x100000 + place * 2 * PAGE, PAGE, prot, "//anon"));
}

static void record_of(const struct jp_event *act, uint64_t place, uint64_t time,
		      struct jp_event *record)
{
	*record = (struct jp_event)MADE_EVENT(
		MAP, PID, time, MADE_MAP(0x100000 + place * 2 * PAGE, PAGE, RX, "//anon"));
	record->map.pgoff = record->map.addr;
}

/* Side by side in an order that is none; each is known late. */
static void beside(uint64_t i, uint64_t count, struct jp_event *act, struct jp_event *record)
{
	const uint64_t place = i * 7919 % count, time = BEGIN + i * STEP;

	make(place, time, RX, act);
	record_of(act, place, time + SLACK + 30, record);
}

/* One after the other in one place, where nothing is executable every other time, and the capture
 * does not tell. */
static void after(uint64_t i, uint64_t count, struct jp_event *act, struct jp_event *record)
{
	const uint64_t time = BEGIN + i * STEP;

	make(0, time, i % 2 ? PLAIN : RX, act);
	record_of(act, 0, time + 2, record);
	/* A record of the same mapping tells nothing new. */
	record->map.pgoff = i * PAGE;
}

/* Never executable, but by the capture. */
static void plain(uint64_t i, uint64_t count, struct jp_event *act, struct jp_event *record)
{
	const uint64_t place = i * 7919 % count, time = BEGIN + i * STEP;

	make(place, time, PLAIN, act);
	record_of(act, place, time + 2, record);
}

/* The capture knows none of them. */
static void missing(uint64_t i, uint64_t count, struct jp_event *act, struct jp_event *record)
{
	const uint64_t time = BEGIN + i * STEP;

	make(i, time, RX, act);
	record_of(act, 2 * count + i, time, record);
}

/* Each within the one before, of which it leaves both ends; the capture knows the first one, and
 * that all of it is executable still. */
static void within(uint64_t i, uint64_t count, struct jp_event *act, struct jp_event *record)
{
	const uint64_t time = BEGIN + i * STEP;

	make(i, time, RX, act);
	act->map.len = 4 * (count - i) * PAGE;
	act->map.addr -= i * PAGE;
	record_of(act, i ? 4 * count + i : 0, time + 2, record);
	if (!i)
		record->map.len = act->map.len;
}

static uint64_t none(uint64_t count)
{
	return 0 * count;
}

static uint64_t all(uint64_t count)
{
	return count;
}

static uint64_t half(uint64_t count)
{
	return count / 2;
}

static double cost(size_t count)
{
	struct jp_event *acts = calloc(count, sizeof(*acts));
	struct jp_event *records = calloc(count, sizeof(*records));
	struct jp_truth truth = {.version = 3, .acts = acts, .nr_acts = count};
	const struct jp_evidence evidence = {.truth = &truth,
					     .info = {.slack = SLACK,
						      .enabled = 1,
						      .sampling = 1,
						      .stopped = BEGIN + (count + 1) * STEP}};
	struct jp_metric found;
	uint64_t begun;
	double spent = 0;

	if (!check(acts && records, "memory"))
		exit(99);
	for (size_t i = 0; i < count; i++)
		scene->make(i, count, &acts[i], &records[i]);
	check(!jp_acts_at_index(&truth.acts_at, acts, count) &&
		      !jp_acts_of_index(&truth.acts_of, acts, count),
	      "acts are found");
	begun = jp_clock_thread_cpu();
	found = judge("mapping_coverage", &evidence, records, count, scene->metric);
	spent = (double)(jp_clock_thread_cpu() - begun);
	check(found.k == scene->found(count), "%s: %s is %d of %zu", scene->what, scene->metric,
	      (int)found.k, count);
	jp_acts_at_free(&truth.acts_at);
	jp_acts_of_free(&truth.acts_of);
	free(acts);
	free(records);
	return spent;
}

int main(void)
{
	static const struct scene scenes[] = {
		{"mappings side by side", "coverage.late", beside, all},
		{"mappings after each other", "coverage.stale", after, half},
		{"mappings that are not executable", "coverage.stale", plain, all},
		{"mappings within each other", "coverage.stale", within, none},
		{"mappings that no record has", "coverage.missing", missing, all},
	};

	for (scene = scenes; scene < scenes + sizeof(scenes) / sizeof(*scenes); scene++)
		check_growth(scene->what, cost);
	return check_done();
}
