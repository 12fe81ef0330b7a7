// SPDX-License-Identifier: GPL-2.0-only
/* Tests validators at the ends of intervals, and with times of more than 32 bits. */
#include <inttypes.h>

#include "harness/format/perfdata/format.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/judged.h"
#include "harness/selftest/support/made_events.h"
#include "validators/record_fields.h"

enum { PID = 9, SLACK = 10, RX = JP_PROT_READ | JP_PROT_EXEC };

static struct jp_truth_incarnation image = {.pid = PID, .until = UINT64_MAX, .is_first = true};
static const struct jp_capture_info always = {
	.slack = SLACK, .enabled = 1, .sampling = 1, .stopped = 9999};

/* A record of another file does not count if its time is within the slack of the file's end. */
TEST(another_file)
{
	enum { FROM = 1000, UNTIL = 2000 };
	struct jp_truth_file file = {.pid = PID,
				     .addr = 0x1000,
				     .len = 0x1000,
				     .from = FROM,
				     .until = UNTIL,
				     .build_id = "- /bin/a",
				     .path = "/bin/a"};
	struct jp_truth truth = {.version = 3,
				 .files = &file,
				 .nr_files = 1,
				 .incarnations = &image,
				 .nr_incarnations = 1};
	const struct jp_evidence evidence = {.truth = &truth, .info = always};

	check(!jp_truth_index_files(&truth), "files are indexed");
	for (uint64_t time = UNTIL - SLACK - 1; time <= UNTIL - SLACK; time++) {
		const struct jp_event event =
			MADE_EVENT(MAP, PID, time, MADE_MAP(0x1000, 0x1000, RX, "/bin/b"));
		const bool within = time < UNTIL - SLACK;

		check(judge("processes", &evidence, &event, 1, "files.identity").k == within &&
			      judge("processes", &evidence, &event, 1, "files.missing").k ==
				      !within,
		      "a wrong file recorded at %d is %s", (int)time,
		      within ? "wrong" : "too late");
	}
	jp_boxes_free(&truth.files_at);
}

TEST(second_mapping)
{
	static const struct jp_event_asked requested = {.ids = true};
	struct jp_event acts[] = {
		MADE_ACT(EXEC, PID, PID, 5, 6, .task = {.start_kind = JP_START_LAUNCH}),
		MADE_ACT(MAP, PID, PID, 1000, 1001, MADE_MAP(0x10000, 0x4000, RX, "//anon")),
		MADE_ACT(UNMAP, PID, PID, 1500, 1501, .map = {.addr = 0x10000, .len = 0x4000}),
		MADE_ACT(MAP, PID, PID, 2000, 2001, MADE_MAP(0x10000, 0x4000, RX, "//anon")),
	};
	struct jp_truth truth = TRUTH_OF_ACTS(acts, 4, image);
	const struct jp_evidence evidence = {.truth = &truth, .info = always};

	index_truth(&truth);
	for (uint64_t time = 2001 + SLACK; time <= 2002 + SLACK; time++) {
		const struct jp_event event =
			MADE_EVENT(MAP, PID, time, .id = 1, .asked = &requested,
				   MADE_MAP(0x10000, 0x4000, RX, "//anon"));
		const struct jp_metric metric =
			judge("act_records", &evidence, &event, 1, "records.acts");
		const bool is_late = time > 2001 + SLACK;

		check(metric.n == 1 && metric.k == is_late, "a record at %d is %s", (int)time,
		      is_late ? "of no act" : "of the second mapping");
	}
	free_truth_index(&truth);
}

/* The kernel sets MMAP_DATA in records of mappings that are not executable. */
TEST(data_mark)
{
	for (int executable = 0; executable <= 1; executable++) {
		struct jp_event event = MADE_EVENT(
			MAP, PID, 1000, .id = 1, .misc = JP_PERF_MISC_USER | JP_PERF_MISC_MMAP_DATA,
			MADE_MAP(0x1000, 0x1000, executable ? RX : JP_PROT_READ, "//anon\0\0"));

		check(!jp_record_check_live_fields(&event) == !executable,
		      "MMAP_DATA in a record of %s is judged", executable ? "code" : "data");
	}
}
