// SPDX-License-Identifier: GPL-2.0-only
/* Tests that each sample in one of many files is credited to that file, in linear time. */
#include "harness/selftest/support/growth.h"
#include "harness/selftest/support/judged.h"
#include "harness/selftest/support/made_events.h"

enum { PID = 5, SLACK = 10, BEGIN = 1000, STEP = 100, PAGE = 0x1000 };

/* Files stay mapped side by side; otherwise each replaces the one before. */
static bool side_by_side;
/* Whether each mapping record names a wrong file. */
static bool mistaken;

static struct jp_truth_file make_file(uint64_t i)
{
	const uint64_t from = BEGIN + i * STEP;

	return (struct jp_truth_file){.pid = PID,
				      .ino = i + 1,
				      .addr = 0x100000 + (side_by_side ? 2 * i * PAGE : 0),
				      .len = PAGE,
				      .from = from,
				      .until = side_by_side ? UINT64_MAX : from + STEP,
				      .build_id = "- /library",
				      .path = "/library"};
}

static struct jp_event make_sample(const struct jp_truth_file *file, uint64_t time)
{
	return (struct jp_event)MADE_EVENT(SAMPLE, PID, time,
					   .sample = {.user = true, .ip = file->addr + 8});
}

/* Makes for each file its record, a sample too close to its mapping to count, and a sample that
 * counts for the file. */
static void credit_each_sample(size_t count)
{
	struct jp_truth_file *files = allocate(count, sizeof(*files));
	struct jp_event *events = allocate(3 * count, sizeof(*events)), *event = events;
	struct jp_truth truth = {.version = 3, .files = files, .nr_files = count};
	const struct jp_evidence evidence = {.truth = &truth,
					     .info = {.slack = SLACK,
						      .enabled = 1,
						      .sampling = 1,
						      .stopped = BEGIN + (count + 1) * STEP}};
	struct jp_metric metric;

	for (size_t i = 0; i < count; i++) {
		const struct jp_truth_file file = files[i] = make_file(i);

		*event = (struct jp_event)MADE_EVENT(MAP, PID, file.from,
						     MADE_MAP(file.addr, PAGE,
							      JP_PROT_READ | JP_PROT_EXEC,
							      mistaken ? "/other" : "/library"));
		event->map.ino = file.ino;
		event++->map.has_identity = true;
		*event++ = make_sample(&file, file.from + SLACK - 1);
		*event++ = make_sample(&file, file.from + STEP / 2);
	}
	start_cost();
	check(!jp_truth_index_files(&truth), "files are indexed");
	metric = judge("processes", &evidence, events, 3 * count, "files.credited");
	end_cost();
	check(metric.k == (mistaken ? 0 : count) && metric.n == count,
	      "%d of %d samples are credited to their file", (int)metric.k, (int)metric.n);
	jp_boxes_free(&truth.files_at);
	free(files);
	free(events);
}

TEST(files)
{
	side_by_side = true;
	check_growth("files side by side", credit_each_sample);
	side_by_side = false;
	check_growth("files after each other", credit_each_sample);
	mistaken = true;
	check_growth("files after each other, all mistaken", credit_each_sample);
	side_by_side = true;
	check_growth("files side by side, all mistaken", credit_each_sample);
}
