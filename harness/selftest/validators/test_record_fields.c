// SPDX-License-Identifier: GPL-2.0-only
/* What only touches a border does not count, and times are of 64 bits: on evidence made by hand. */
#include <inttypes.h>

#include "harness/format/perfdata/format.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/judged.h"
#include "harness/selftest/support/made_events.h"
#include "validators/record_fields.h"

enum { PID = 9, SLACK = 10, RX = JP_PROT_READ | JP_PROT_EXEC };
/* Its lower half is small. */
static const uint64_t LATE = UINT64_C(5) << 32;

static struct jp_truth_incarnation image = {.pid = PID, .until = UINT64_MAX, .first = true};

/* A process knows of each request to its gate, as well as the clocks tell. */
static void gate_marks(uint64_t slack)
{
	enum { ASKED = 1000, ENABLING = 2000, DISABLING = 3000 };
	static const char *const names[] = {"gate.announce", "gate.start", "gate.stop"};
	static const uint64_t times[] = {ASKED, ENABLING, DISABLING};
	struct jp_announced process = {.pid = PID, .asked = ASKED, .answered = ASKED, .comm = "a"};
	struct jp_interval interval = {0, PID, ENABLING, ENABLING, DISABLING, DISABLING};
	struct jp_snapshot snapshot = {.pid = PID, .before = ASKED, .after = ASKED};

	for (uint64_t late = 0; late <= 1; late++) {
		struct jp_event acts[3];
		struct jp_truth truth = {.version = 3,
					 .acts = acts,
					 .nr_acts = 3,
					 .incarnations = &image,
					 .nr_incarnations = 1};
		struct jp_evidence evidence = {
			.truth = &truth,
			.info = {.slack = slack, .enabled = 1, .stopped = UINT64_MAX},
			.snapshots = {.list = &snapshot, .count = 1},
			.intervals = {.gate = "backfill",
				      .processes = &process,
				      .nr_processes = 1,
				      .intervals = &interval,
				      .nr_intervals = 1}};

		for (size_t i = 0; i < 3; i++)
			acts[i] = (struct jp_event)MADE_ACT(
				MARK, PID, PID, times[i] + slack + late * (i == 2),
				times[i] + slack + 1, .mark = {.text = names[i]});
		check(!jp_acts_of_index(&truth.acts_of, acts, 3), "acts are found");
		judge("gated_capture", &evidence, NULL, 0, "gated.processes");
		check(!!strstr(judged_error, "has no mark gate.stop") == late &&
			      !*judged_error == !late,
		      "slack %" PRIu64 ": marks %s: %s", slack,
		      late ? "after their requests" : "in time", judged_error);
		jp_acts_of_free(&truth.acts_of);
	}
}

/* Another file that comes as the window ends was not there in it. */
static void another_file(void)
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
	const struct jp_evidence evidence = {
		.truth = &truth,
		.info = {.slack = SLACK, .enabled = 1, .sampling = 1, .stopped = 9999}};

	check(!jp_truth_index_files(&truth), "files are found");
	for (uint64_t time = UNTIL - SLACK - 1; time <= UNTIL - SLACK; time++) {
		const struct jp_event event =
			MADE_EVENT(MAP, PID, time, MADE_MAP(0x1000, 0x1000, RX, "/bin/b"));
		const bool within = time < UNTIL - SLACK;

		check(judge("processes", &evidence, &event, 1, "files.identity").k == within &&
			      judge("processes", &evidence, &event, 1, "files.missing").k ==
				      !within,
		      "a file that comes at %d is %s", (int)time, within ? "another" : "too late");
	}
	jp_boxes_free(&truth.files_at);
}

/* The same of a mapping. */
static void another_mapping(void)
{
	enum { FROM = 1000, UNTIL = 2000 };
	struct jp_event acts[] = {
		MADE_ACT(EXEC, PID, PID, 5, 6, .task = {.how = JP_HOW_LAUNCH}),
		MADE_ACT(MAP, PID, PID, FROM, FROM, MADE_MAP(0x10000, 0x4000, RX, "//anon")),
		MADE_ACT(UNMAP, PID, PID, UNTIL, UNTIL, .map = {.addr = 0x10000, .len = 0x4000}),
	};
	struct jp_truth truth = {.version = 3,
				 .acts = acts,
				 .nr_acts = 3,
				 .incarnations = &image,
				 .nr_incarnations = 1};
	const struct jp_evidence evidence = {
		.truth = &truth,
		.info = {.slack = SLACK, .enabled = 1, .sampling = 1, .stopped = 9999}};

	check(!jp_acts_at_index(&truth.acts_at, acts, 3) &&
		      !jp_acts_of_index(&truth.acts_of, acts, 3),
	      "acts are found");
	for (uint64_t time = UNTIL - SLACK - 1; time <= UNTIL - SLACK; time++) {
		const struct jp_event event =
			MADE_EVENT(MAP, PID, time, MADE_MAP(0x10000, 0x4000, RX, "/bin/b"));
		const bool within = time < UNTIL - SLACK;

		check(judge("mapping_coverage", &evidence, &event, 1, "coverage.identity").k ==
				      within &&
			      judge("mapping_coverage", &evidence, &event, 1, "coverage.missing")
					      .k == !within,
		      "a mapping that comes at %d is %s", (int)time,
		      within ? "another" : "too late");
	}
	jp_acts_at_free(&truth.acts_at);
	jp_acts_of_free(&truth.acts_of);
}

/* A record behind the end of one mapping is held against the next in its place. */
static void second_mapping(void)
{
	static const struct jp_event_asked asked = {.ids = true};
	struct jp_event acts[] = {
		MADE_ACT(EXEC, PID, PID, 5, 6, .task = {.how = JP_HOW_LAUNCH}),
		MADE_ACT(MAP, PID, PID, 1000, 1001, MADE_MAP(0x10000, 0x4000, RX, "//anon")),
		MADE_ACT(UNMAP, PID, PID, 1500, 1501, .map = {.addr = 0x10000, .len = 0x4000}),
		MADE_ACT(MAP, PID, PID, 2000, 2001, MADE_MAP(0x10000, 0x4000, RX, "//anon")),
	};
	struct jp_truth truth = {.version = 3,
				 .acts = acts,
				 .nr_acts = 4,
				 .incarnations = &image,
				 .nr_incarnations = 1};
	const struct jp_evidence evidence = {
		.truth = &truth,
		.info = {.slack = SLACK, .enabled = 1, .sampling = 1, .stopped = 9999}};

	check(!jp_acts_of_index(&truth.acts_of, acts, 4), "acts are found");
	for (uint64_t time = 2001 + SLACK; time <= 2002 + SLACK; time++) {
		const struct jp_event event = MADE_EVENT(MAP, PID, time, .id = 1, .asked = &asked,
							 MADE_MAP(0x10000, 0x4000, RX, "//anon"));
		const struct jp_metric metric =
			judge("act_records", &evidence, &event, 1, "records.acts");
		const bool late = time > 2001 + SLACK;

		check(metric.n == 1 && metric.k == late, "a record at %d is %s", (int)time,
		      late ? "of no act" : "of the second mapping");
	}
	jp_acts_of_free(&truth.acts_of);
}

/* A record names the thread of the act that made it: of the one that did, where another took away
 * what was there, and as early as the clocks may differ. */
static void other_thread(void)
{
	enum { BEFORE = 1000, OTHER_TID = 77 };
	/* Behind the last one lies no act. */
	struct jp_event acts[] = {
		MADE_ACT(EXEC, PID, PID, 5, 6, .task = {.how = JP_HOW_LAUNCH}),
		MADE_ACT(MAP, PID, PID, BEFORE / 2, BEFORE / 2 + 1,
			 MADE_MAP(0x10000, 0x4000, RX, "//anon")),
		MADE_ACT(MAP, PID, PID, BEFORE - 1, BEFORE,
			 MADE_MAP(0x90000, 0x4000, RX, "//anon")),
		MADE_ACT(UNMAP, PID, PID, BEFORE, BEFORE + 1,
			 .map = {.addr = 0x10000, .len = 0x4000}),
		MADE_ACT(MAP, PID, PID, BEFORE + 1, BEFORE + 2,
			 MADE_MAP(0x10000, 0x4000, RX, "//anon")),
		MADE_ACT(UNMAP, PID, PID, 0, UINT64_MAX - BEFORE, .map = {.addr = 0, .len = 1}),
	};
	struct jp_truth truth = {.version = 3,
				 .acts = acts,
				 .nr_acts = 5,
				 .incarnations = &image,
				 .nr_incarnations = 1};
	const struct jp_evidence evidence = {
		.truth = &truth,
		.info = {.slack = SLACK, .enabled = 1, .sampling = 1, .stopped = 9999}};
	static const struct jp_event_asked asked = {.ids = true};

	check(!jp_acts_at_index(&truth.acts_at, acts, 5) &&
		      !jp_acts_of_index(&truth.acts_of, acts, 5),
	      "acts are found");
	for (int other = 0; other <= 1; other++)
		for (uint64_t time = BEFORE + 1 - SLACK; time <= BEFORE + 1; time += SLACK) {
			struct jp_event event = MADE_EVENT(MAP, PID, time, .id = 1, .asked = &asked,
							   MADE_MAP(0x10000, 0x4000, RX, "//anon"));

			event.tid = other ? OTHER_TID : PID;
			check(judge("act_records", &evidence, &event, 1, "records.acts").k ==
				      (uint64_t)other,
			      "a record at %d names %s thread", (int)time,
			      other ? "another" : "its");
		}
	jp_acts_at_free(&truth.acts_at);
	jp_acts_of_free(&truth.acts_of);
}

/* The kernel marks mappings that nobody may execute. */
static void data_mark(void)
{
	for (int executable = 0; executable <= 1; executable++) {
		struct jp_event event = MADE_EVENT(
			MAP, PID, 1000, .id = 1, .misc = JP_PERF_MISC_USER | JP_PERF_MISC_MMAP_DATA,
			MADE_MAP(0x1000, 0x1000, executable ? RX : JP_PROT_READ, "//anon\0\0"));

		check(!jp_record_live_field(&event) == !executable, "a mapping of %s is marked",
		      executable ? "code" : "data");
	}
}

int main(void)
{
	gate_marks(SLACK);
	gate_marks(LATE);
	another_file();
	another_mapping();
	second_mapping();
	data_mark();
	other_thread();
	return check_done();
}
