// SPDX-License-Identifier: GPL-2.0-only
/* Tests validators at the ends of their time ranges, on evidence that no recorded run has. */
#include <inttypes.h>

#include "harness/selftest/support/check.h"
#include "harness/selftest/support/judged.h"
#include "harness/selftest/support/made_events.h"

enum { PID = 9, SLACK = 10, RX = JP_PROT_READ | JP_PROT_EXEC };

#define LAUNCHED MADE_ACT(EXEC, PID, PID, 5, 6, .task = {.start_kind = JP_START_LAUNCH})

/* A capture whose events were always enabled, and one process with one file. */
static const struct jp_capture_info always = {
	.slack = SLACK, .enabled = 1, .sampling = 1, .stopped = 9999};
static struct jp_truth_incarnation image = {.pid = PID, .until = UINT64_MAX, .is_first = true};
static struct jp_truth_file file = {.pid = PID,
				    .addr = 0x1000,
				    .len = 0x1000,
				    .from = 1000,
				    .until = 2000,
				    .build_id = "- /bin/a",
				    .path = "/bin/a"};

static struct jp_announced asked[] = {
	{.pid = PID, .announcement_time = 900, .answer_time = 950, .comm = "old"},
	{.pid = PID, .announcement_time = 2100, .answer_time = 2150, .comm = "new"},
};
static struct jp_interval watched[] = {
	{0, PID, 990, 1000, 2000, 2010},
	{1, PID, 2190, 2200, 3000, 3010},
};

static struct jp_evidence make_gated_evidence(struct jp_truth *truth, size_t count)
{
	return (struct jp_evidence){.truth = truth,
				    .info = {.slack = SLACK, .enabled = 1, .stopped = 9999},
				    .intervals = {.gate = "none",
						  .processes = asked,
						  .nr_processes = count,
						  .intervals = watched,
						  .nr_intervals = count}};
}

/* A process image counts if it certainly existed during an interval of its process. */
TEST(images_in_interval)
{
	static const struct {
		uint64_t after, until;
		uint64_t images;
	} rows[] = {{100, 1010, 0},        {100, 1011, 1},        {1000, 1500, 1},
		    {1989, UINT64_MAX, 1}, {1990, UINT64_MAX, 0}, {100, UINT64_MAX, 1}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct jp_truth_incarnation incarnation = {.pid = PID,
							   .before = rows[i].after - 1,
							   .after = rows[i].after,
							   .until = rows[i].until,
							   .is_first = true};
		struct jp_truth truth = {
			.version = 3, .incarnations = &incarnation, .nr_incarnations = 1};
		const struct jp_evidence evidence = make_gated_evidence(&truth, 1);

		check(judge("processes", &evidence, NULL, 0, "processes.images").k ==
			      rows[i].images,
		      "an image from %d to %lld: %d must be known", (int)rows[i].after,
		      (long long)rows[i].until, (int)rows[i].images);
	}
}

TEST(credited_samples)
{
	struct jp_truth truth = {.version = 3, .files = &file, .nr_files = 1};
	const struct jp_evidence evidence = {.truth = &truth, .info = always};
	static const struct {
		uint64_t time, samples;
	} rows[] = {{1000, 0}, {1009, 0}, {1010, 1}, {1990, 1}, {1991, 0}};

	check(!jp_truth_index_files(&truth), "files are indexed");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct jp_event events[] = {
			MADE_EVENT(MAP, PID, 500, MADE_MAP(0x1000, 0x1000, RX, "/bin/a")),
			MADE_EVENT(SAMPLE, PID, rows[i].time,
				   .sample = {.ip = 0x1800, .user = true}),
		};
		const struct jp_metric metric =
			judge("processes", &evidence, events, 2, "files.credited");

		check(metric.n == rows[i].samples && metric.k == rows[i].samples,
		      "of a sample at %d, %d of %d are credited", (int)rows[i].time, (int)metric.k,
		      (int)metric.n);
	}
	jp_boxes_free(&truth.files_at);
}

TEST(missing_thread)
{
	struct jp_event acts[] = {
		LAUNCHED,
		MADE_ACT(FORK, PID, PID + 1, 1000, 1001, .task = {.ppid = PID, .ptid = PID}),
		MADE_ACT(EXIT, PID, PID + 1, 2000, 2000),
		MADE_ACT(GONE, PID, PID + 1, 2001, 2010),
	};
	struct jp_truth truth = {.version = 3, .acts = acts, .nr_acts = 4};
	const struct jp_evidence evidence = {.truth = &truth, .info = always};
	static const char *const names[] = {"fork.missing", "exit.missing"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct jp_metric metric = judge("tasks", &evidence, NULL, 0, names[i]);

		check(metric.k == 1 && metric.n == 1, "%s counts the thread: %d of %d", names[i],
		      (int)metric.k, (int)metric.n);
	}
}

/* A process may be listed by any name that it had between its request and its interval. */
TEST(listed_names)
{
	static const struct {
		uint64_t renamed;
		const char *listed;
		bool is_wrong;
	} rows[] = {{950, "old", false}, {950, "new", false}, {950, "other", true},
		    {885, "old", true},  {890, "old", false}, {885, "new", false},
		    {1001, "new", true}, {1000, "new", false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const uint64_t renamed = rows[i].renamed;
		struct jp_event acts[] = {
			LAUNCHED,
			MADE_ACT(COMM, PID, PID, 7, 8, .comm = {.name = "old"}),
			MADE_ACT(COMM, PID, PID, renamed, renamed + 4, .comm = {.name = "new"}),
		};
		struct jp_truth truth = {.version = 3, .acts = acts, .nr_acts = 3};
		struct jp_evidence evidence = make_gated_evidence(&truth, 1);
		struct jp_announced process = asked[0];

		strcpy(process.comm, rows[i].listed);
		evidence.intervals.processes = &process;
		check(judge("gate_names", &evidence, NULL, 0, "gated.listed").k == rows[i].is_wrong,
		      "a process renamed at %d and listed as %s is %s", (int)renamed,
		      rows[i].listed, rows[i].is_wrong ? "wrong" : "right");
	}
}

TEST(lives_of_a_pid)
{
	struct jp_truth truth = {.version = 3};
	const struct jp_evidence evidence = make_gated_evidence(&truth, 2);

	for (uint64_t time = 2009; time <= 2011; time++) {
		const struct jp_event event =
			MADE_EVENT(MAP, PID, time, MADE_MAP(0x1000, 0x1000, RX, "//anon"));

		check(judge("gated_capture", &evidence, &event, 1, "process.1.mmap2").k ==
				      (time <= 2010) &&
			      judge("gated_capture", &evidence, &event, 1, "process.2.mmap2").k ==
				      (time > 2010),
		      "a mapping at %d belongs to the %s life", (int)time,
		      time <= 2010 ? "first" : "second");
	}
}

/* Records of a process without an interval must exist if the gate does not hold back records. */
TEST(no_interval)
{
	static const char *const gates[] = {"sideband", "none"};
	struct jp_event acts[] = {
		LAUNCHED,
		MADE_ACT(MAP, PID, PID, 1000, 1001, MADE_MAP(0x10000, 0x4000, RX, "//anon")),
	};
	struct jp_truth truth = TRUTH_OF_ACTS(acts, 2, image);

	for (int i = 0; i < 2; i++) {
		struct jp_evidence evidence = make_gated_evidence(&truth, 0);

		strcpy(evidence.intervals.gate, gates[i]);
		check(judge("equal_mappings", &evidence, NULL, 0, "mappings.missing").k == !i,
		      "gate %s: a mapping without a record is %s", gates[i],
		      i ? "allowed" : "missing");
	}
}

TEST(name_of_launcher)
{
	struct jp_event acts[] = {
		MADE_ACT(EXEC, PID, PID, 1000, 1001, .task = {.start_kind = JP_START_LAUNCH})};
	struct jp_truth truth = {.version = 3, .acts = acts, .nr_acts = 1};
	const struct jp_evidence evidence = {.truth = &truth, .info = always};

	for (uint64_t time = 1001; time <= 1021; time += SLACK) {
		const struct jp_event events[] = {
			MADE_EVENT(COMM, PID, 900, .comm = {.name = "perf-exec"}),
			MADE_EVENT(SAMPLE, PID, time, .sample = {.user = true}),
		};
		const struct jp_metric metric = judge("comm", &evidence, events, 2, "comm.threads");

		check(metric.n == 1 && metric.k == (time > 1001 + SLACK),
		      "of a sample at %d, %d of %d have a wrong name", (int)time, (int)metric.k,
		      (int)metric.n);
	}
}
