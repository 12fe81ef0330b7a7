// SPDX-License-Identifier: GPL-2.0-only
/* Tests that mapping coverage judges each of many mappings once, in linear time. */
#include "harness/selftest/support/growth.h"
#include "harness/selftest/support/judged.h"
#include "harness/selftest/support/made_events.h"

enum { PID = 5, SLACK = 10, BEGIN = 1000, STEP = 100, PAGE = 0x1000, PLAIN = JP_PROT_READ };
enum { RX = JP_PROT_READ | JP_PROT_EXEC };

/* A scene: @make sets act @i of @count acts of the truth, and the capture's record of it. */
struct scene {
	const char *label, *metric;
	void (*make)(uint64_t i, uint64_t count, struct jp_event *act, struct jp_event *record);
	unsigned expected_in_2; /* of two acts, how many @metric counts */
};

static const struct scene *scene;

static void make_act(uint64_t place, uint64_t time, uint32_t prot, struct jp_event *act)
{
	*act = (struct jp_event)MADE_ACT(
		MAP, PID, PID, time, time,
		MADE_MAP(0x100000 + place * 2 * PAGE, PAGE, prot, "//anon"));
}

static void make_record(const struct jp_event *act, uint64_t place, uint64_t time,
			struct jp_event *record)
{
	*record = (struct jp_event)MADE_EVENT(
		MAP, PID, time, MADE_MAP(0x100000 + place * 2 * PAGE, PAGE, RX, "//anon"));
	record->map.pgoff = record->map.addr;
}

/* Mappings side by side, in mixed order; each record is late. */
static void make_side_by_side(uint64_t i, uint64_t count, struct jp_event *act,
			      struct jp_event *record)
{
	const uint64_t place = i * 7919 % count, time = BEGIN + i * STEP;

	make_act(place, time, RX, act);
	make_record(act, place, time + SLACK + 30, record);
}

/* Makes mappings one after the other in one place, every other one not executable; the capture's
 * records state that all are. */
static void make_in_one_place(uint64_t i, uint64_t count, struct jp_event *act,
			      struct jp_event *record)
{
	const uint64_t time = BEGIN + i * STEP;

	make_act(0, time, i % 2 ? PLAIN : RX, act);
	make_record(act, 0, time + 2, record);
	/* Use another offset; otherwise it would count as the same mapping. */
	record->map.pgoff = i * PAGE;
}

/* Makes mappings that are executable only according to the capture. */
static void make_plain_mapping(uint64_t i, uint64_t count, struct jp_event *act,
			       struct jp_event *record)
{
	const uint64_t place = i * 7919 % count, time = BEGIN + i * STEP;

	make_act(place, time, PLAIN, act);
	make_record(act, place, time + 2, record);
}

/* Mappings without a record. */
static void make_missing_record(uint64_t i, uint64_t count, struct jp_event *act,
				struct jp_event *record)
{
	const uint64_t time = BEGIN + i * STEP;

	make_act(i, time, RX, act);
	make_record(act, 2 * count + i, time, record);
}

/* Makes mappings that each replace the middle of the one before. The capture knows only the first
 * one, and rightly states that all of it is executable. */
static void make_nested_mapping(uint64_t i, uint64_t count, struct jp_event *act,
				struct jp_event *record)
{
	const uint64_t time = BEGIN + i * STEP;

	make_act(i, time, RX, act);
	act->map.len = 4 * (count - i) * PAGE;
	act->map.addr -= i * PAGE;
	make_record(act, i ? 4 * count + i : 0, time + 2, record);
	if (!i)
		record->map.len = act->map.len;
}

static void judge_scene(size_t count)
{
	struct jp_event *acts = allocate(count, sizeof(*acts));
	struct jp_event *records = allocate(count, sizeof(*records));
	struct jp_truth truth = {.version = 3, .acts = acts, .nr_acts = count};
	const struct jp_evidence evidence = {.truth = &truth,
					     .info = {.slack = SLACK,
						      .enabled = 1,
						      .sampling = 1,
						      .stopped = BEGIN + (count + 1) * STEP}};
	struct jp_metric metric;

	for (size_t i = 0; i < count; i++)
		scene->make(i, count, &acts[i], &records[i]);
	index_truth(&truth);
	start_cost();
	metric = judge("mapping_coverage", &evidence, records, count, scene->metric);
	end_cost();
	check(metric.k == count * scene->expected_in_2 / 2, "%s: %s is %d of %zu", scene->label,
	      scene->metric, (int)metric.k, count);
	free_truth_index(&truth);
	free(acts);
	free(records);
}

/* Judges @records by @truth. Returns the number of stale mappings. */
static uint64_t count_stale_mappings(struct jp_truth *truth, struct jp_event *records, size_t count)
{
	const struct jp_evidence evidence = {
		.truth = truth,
		.info = {
			.slack = SLACK, .enabled = 1, .sampling = 1, .stopped = BEGIN + 10 * STEP}};
	struct jp_metric stale;

	index_truth(truth);
	stale = judge("mapping_coverage", &evidence, records, count, "coverage.stale");
	free_truth_index(truth);
	return stale.k;
}

/* Judges a process that inherits a stale mapping at @forked. An earlier process of the same pid
 * unmapped memory at the same address. */
static uint64_t count_stale_inherited(uint64_t forked)
{
	struct jp_truth_incarnation images[] = {
		{.pid = PID, .before = 1, .after = 1, .until = BEGIN + 4 * STEP, .is_first = true},
		{.pid = PID, .before = BEGIN + 5 * STEP, .until = UINT64_MAX, .is_first = true}};
	struct jp_event acts[] = {
		MADE_ACT(MAP, PID, PID, BEGIN, BEGIN, MADE_MAP(0x100000, PAGE, RX, "//anon")),
		MADE_ACT(UNMAP, PID, PID, BEGIN + STEP, BEGIN + STEP,
			 MADE_MAP(0x100000, PAGE, 0, ""))};
	struct jp_event records[] = {
		MADE_EVENT(MAP, PID + 1, BEGIN - STEP, MADE_MAP(0x100000, PAGE, RX, "//anon")),
		MADE_EVENT(FORK, PID, forked, .task = {.ppid = PID + 1, .ptid = PID + 1})};
	struct jp_truth truth = {.version = 3,
				 .acts = acts,
				 .nr_acts = 2,
				 .incarnations = images,
				 .nr_incarnations = 2};

	return count_stale_mappings(&truth, records, 2);
}

/* Judges the record of three pages whose memory ended. A record of the middle page cuts it into two
 * pieces. */
static uint64_t count_stale_cut(void)
{
	struct jp_truth_incarnation images[] = {{.pid = PID, .before = 1, .until = UINT64_MAX}};
	struct jp_event acts[] = {
		MADE_ACT(MAP, PID, PID, BEGIN, BEGIN, MADE_MAP(0x100000, 3 * PAGE, RX, "//anon")),
		MADE_ACT(UNMAP, PID, PID, BEGIN + STEP, BEGIN + STEP,
			 MADE_MAP(0x100000, 3 * PAGE, 0, "")),
		MADE_ACT(MAP, PID, PID, BEGIN + 2 * STEP, BEGIN + 2 * STEP,
			 MADE_MAP(0x100000 + PAGE, PAGE, RX, "//anon"))};
	struct jp_event records[] = {
		MADE_EVENT(MAP, PID, BEGIN, MADE_MAP(0x100000, 3 * PAGE, RX, "//anon")),
		MADE_EVENT(MAP, PID, BEGIN + 2 * STEP,
			   MADE_MAP(0x100000 + PAGE, PAGE, RX, "//anon"))};
	struct jp_truth truth = {.version = 3,
				 .acts = acts,
				 .nr_acts = 3,
				 .incarnations = images,
				 .nr_incarnations = 1};

	return count_stale_mappings(&truth, records, 2);
}

TEST(coverage)
{
	static const struct scene scenes[] = {
		{"mappings side by side", "coverage.late", make_side_by_side, 2},
		{"mappings after each other", "coverage.stale", make_in_one_place, 1},
		{"mappings that are not executable", "coverage.stale", make_plain_mapping, 2},
		{"mappings within each other", "coverage.stale", make_nested_mapping, 0},
		{"mappings that no record has", "coverage.missing", make_missing_record, 2},
	};

	for (scene = scenes; scene < scenes + sizeof(scenes) / sizeof(*scenes); scene++)
		check_growth(scene->label, judge_scene);
	check(!count_stale_inherited(BEGIN + 5 * STEP),
	      "what a process inherits is not stale because of an earlier process of its pid");
	check(count_stale_cut() == 1, "the pieces of a cut record are stale since one end");
	check(count_stale_inherited(BEGIN + 3 * STEP) == 1,
	      "a mapping that the earlier process had stays stale");
}
