// SPDX-License-Identifier: GPL-2.0-only
/* Tests one record of two adjacent mappings: a later snapshot of maps shows whether they were one
 * mapping; and records of a process from before it was launched. */
#include <inttypes.h>

#include "harness/selftest/support/check.h"
#include "harness/selftest/support/judged.h"
#include "harness/selftest/support/made_events.h"

enum { PID = 9, X = JP_PROT_READ | JP_PROT_EXEC, TIME = 2500 };

static struct jp_truth_incarnation image = {.pid = PID, .until = UINT64_MAX, .is_first = true};

struct meeting {
	const char *label;
	uint64_t mark;  /* time of the snapshot of maps */
	uint64_t unmap; /* time at which the second mapping is unmapped; 0: never */
	bool toggled;   /* the second mapping changes protection between record and snapshot */
	const char *maps;
	bool is_wrong;
};

static const char two[] = "10000-14000 r-xp 00010000 00:00 0\n14000-18000 r-xp 00014000 00:00 0\n";

static const struct meeting rows[] = {
	{"two mappings", 3000, 0, false, two, true},
	{"one mapping", 3000, 0, false, "10000-18000 r-xp 00010000 00:00 0\n", false},
	{"two mappings, one named later", 3000, 0, false,
	 "10000-14000 r-xp 00010000 00:00 0\n14000-18000 r-xp 00014000 00:00 0 [anon:b]\n", false},
	{"two mappings in a snapshot before the record", 2400, 0, false, two, false},
	{"two mappings, one unmapped since", 3000, 4000, false, two, true},
	{"two mappings only since the record", 3000, 0, true, two, false},
};

static void judge_row(const struct meeting *row)
{
	static const char record[] = "of the kernel's";
	const uint64_t toggled = row->toggled ? 2600 : 2002; /* after or before TIME */
	struct jp_event acts[] = {
		MADE_ACT(EXEC, PID, PID, 900, 901, .task = {.start_kind = JP_START_LAUNCH}),
		MADE_ACT(MAP, PID, PID, 1000, 1001, MADE_MAP(0x10000, 0x4000, X, "//anon")),
		MADE_ACT(MAP, PID, PID, 2000, 2001, MADE_MAP(0x14000, 0x4000, X, "//anon")),
		MADE_ACT(PROTECT, PID, PID, toggled, toggled + 1,
			 MADE_MAP(0x14000, 0x4000, JP_PROT_READ, "")),
		MADE_ACT(PROTECT, PID, PID, toggled + 2, toggled + 3,
			 MADE_MAP(0x14000, 0x4000, X, "")),
		MADE_ACT(MAPS, PID, PID, row->mark, row->mark + 1, .maps = {.text = row->maps}),
		MADE_ACT(UNMAP, PID, PID, row->unmap, row->unmap + 1,
			 .map = {.addr = 0x14000, .len = 0x4000}),
	};
	struct jp_truth truth = TRUTH_OF_ACTS(acts, row->unmap ? 7 : 6, image);
	const struct jp_evidence evidence = {
		.truth = &truth, .info = {.enabled = 1, .sampling = 1, .stopped = UINT64_MAX}};
	const struct jp_event event =
		MADE_EVENT(MAP, PID, TIME, .record = record, .map.addr = 0x10000, .map.len = 0x8000,
			   .map.pgoff = 0x10000, .map.prot = X, .map.flags = 2,
			   .map.has_identity = true, .map.name = "//anon");
	const struct jp_metric metric =
		judge("mapping_records", &evidence, &event, 1, "mappings.invented");

	check(metric.n == 1 && metric.k == row->is_wrong, "%s: %s", row->label,
	      row->is_wrong ? "one record of both is wrong" : "one record is allowed");
}

/* A synthesized record describes the profiler's own program if the process was launched later. */
TEST(before_launch)
{
	for (uint64_t enabled = 800; enabled <= 1000; enabled += 200) {
		for (uint64_t time = 0; time <= TIME; time += TIME) {
			struct jp_truth_incarnation launched = {
				.pid = PID, .after = 901, .until = UINT64_MAX, .is_first = true};
			struct jp_event acts[] = {MADE_ACT(
				EXEC, PID, PID, 900, 901, .task = {.start_kind = JP_START_LAUNCH})};
			struct jp_truth truth = TRUTH_OF_ACTS(acts, 1, launched);
			const struct jp_evidence evidence = {.truth = &truth,
							     .info = {.enabled = enabled,
								      .sampling = enabled,
								      .stopped = UINT64_MAX}};
			const struct jp_event event = MADE_EVENT(
				MAP, PID, time, MADE_MAP(0x10000, 0x4000, X, "/bin/profiler"));
			const bool is_unknown = enabled < 900 && !time;
			const struct jp_metric metric =
				judge("mapping_records", &evidence, &event, 1,
				      is_unknown ? "mappings.unknown" : "mappings.invented");

			check(metric.k == 1 && exceptions == 1,
			      "record of %" PRIu64 ", events enabled at %" PRIu64 ": %s", time,
			      enabled, is_unknown ? "unknown" : "invented");
		}
	}
}

TEST(mapping_records)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		judge_row(&rows[i]);
}
