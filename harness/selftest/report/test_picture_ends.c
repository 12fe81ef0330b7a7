// SPDX-License-Identifier: GPL-2.0-only
/* Tests when the mapping records of a picture end. */
#include "harness/report/picture_ends.h"
#include "harness/selftest/support/growth.h"
#include "harness/selftest/support/made_events.h"

enum { PID = 5, RX = JP_PROT_READ | JP_PROT_EXEC, LAST = 1000 };

/* Checks that the mapping [0x1000, 0x4000) of PID, recorded at 10, has ended at @to if @events
 * follow, and truth contains @acts. @parts: number of boxes that it makes. */
static void check_end(const char *name, const struct jp_event *events, size_t count,
		      struct jp_event *acts, size_t nr_acts, uint64_t to, size_t parts)
{
	const struct jp_truth truth = {.acts = acts, .nr_acts = nr_acts};
	const struct jp_event mapped =
		MADE_EVENT(MAP, PID, 10, MADE_MAP(0x1000, 0x3000, RX, "//anon"));
	const struct jp_picture_box record = {.pid = PID,
					      .addr = 0x1000,
					      .size = 0x3000,
					      .start_time = 10,
					      .end_time = UINT64_MAX};
	struct jp_picture_boxes records = {0};
	struct jp_picture_ends ends = {0};
	int failed = jp_picture_ends_add_truth(&ends, &truth);

	failed |= jp_picture_boxes_add(&records, &record);
	failed |= jp_picture_ends_handle(&ends, &mapped);
	for (size_t i = 0; i < count; i++)
		failed |= jp_picture_ends_handle(&ends, &events[i]);
	check(!failed && !jp_picture_ends_apply(&ends, &records, 0, LAST), "%s", name);
	check(records.list[0].end_time == to, "%s: it ends at %llu, not %llu", name,
	      (unsigned long long)to, (unsigned long long)records.list[0].end_time);
	check(records.count == parts, "%s: %zu parts, not %zu", name, parts, records.count);
	for (size_t i = 1; i < records.count; i++) {
		const struct jp_picture_box *part = &records.list[i];

		check(part->start_time == to && part->end_time == UINT64_MAX &&
			      part->size == 0x1000 &&
			      (part->addr == 0x1000 || part->addr == 0x3000),
		      "%s: part %zu is left from then on", name, i);
	}
	free(records.list);
	jp_picture_ends_free(&ends);
}

#define CHECK_EVENTS(name, to, ...)                                                                \
	check_end(name, (struct jp_event[]){__VA_ARGS__},                                          \
		  sizeof((struct jp_event[]){__VA_ARGS__}) / sizeof(struct jp_event), NULL, 0, to, \
		  1)
#define CHECK_ACT(name, to, parts, ...)                                                            \
	check_end(name, NULL, 0, &(struct jp_event)__VA_ARGS__, 1, to, parts)

TEST(records)
{
	CHECK_EVENTS("a record that covers all", 30,
		     MADE_EVENT(MAP, PID, 30, MADE_MAP(0x1000, 0x5000, RX, "//anon")),
		     MADE_EVENT(MAP, PID, 40, MADE_MAP(0x1000, 0x5000, RX, "//anon")));
	CHECK_EVENTS("a record that covers a part", UINT64_MAX,
		     MADE_EVENT(MAP, PID, 30, MADE_MAP(0x2000, 0x5000, RX, "//anon")));
	CHECK_EVENTS("a record of another process", UINT64_MAX,
		     MADE_EVENT(MAP, PID + 1, 30, MADE_MAP(0x1000, 0x5000, RX, "//anon")));
	CHECK_EVENTS("a record after the last time", UINT64_MAX,
		     MADE_EVENT(MAP, PID, LAST + 1, MADE_MAP(0x1000, 0x5000, RX, "//anon")));
}

TEST(processes)
{
	const struct jp_event other_event = {
		.type = JP_EVENT_EXIT, .pid = PID, .tid = PID + 1, .time = 40};

	CHECK_EVENTS("exec", 30, MADE_EVENT(COMM, PID, 30, .comm = {.exec = true}));
	CHECK_EVENTS("another name", UINT64_MAX, MADE_EVENT(COMM, PID, 30));
	CHECK_EVENTS("exit", 30, MADE_EVENT(EXIT, PID, 30));
	CHECK_EVENTS("exit of one thread", UINT64_MAX, other_event);
	CHECK_EVENTS("exit of the main thread, then of the last one", 40, MADE_EVENT(EXIT, PID, 30),
		     other_event);
	CHECK_EVENTS("exit of the main thread alone", UINT64_MAX, MADE_EVENT(EXIT, PID, 30),
		     MADE_EVENT(SAMPLE, PID, 35, .sample = {.user = true}));
	CHECK_EVENTS("exit, and another process with the pid", 30, MADE_EVENT(EXIT, PID, 30),
		     MADE_EVENT(FORK, PID, 50, .task = {.ppid = 1}),
		     MADE_EVENT(SAMPLE, PID, 60, .sample = {.user = true}));
}

/* A REMAP of [0x1000, 0x4000) to @size bytes at @at. */
#define MADE_REMAP(at, size)                                                                       \
	MADE_ACT(REMAP, PID, PID, 20, 22,                                                          \
		 .map = {.addr = 0x1000, .len = 0x3000, .new_addr = at, .new_len = size})

TEST(acts)
{
	CHECK_ACT("munmap of all", 22, 1,
		  MADE_ACT(UNMAP, PID, PID, 20, 22, .map = {.addr = 0x1000, .len = 0x3000}));
	CHECK_ACT("munmap of the middle", 22, 3,
		  MADE_ACT(UNMAP, PID, PID, 20, 22, .map = {.addr = 0x2000, .len = 0x1000}));
	CHECK_ACT("munmap of two thirds", 22, 2,
		  MADE_ACT(UNMAP, PID, PID, 20, 22, .map = {.addr = 0x2000, .len = 0x2000}));
	CHECK_ACT("an older munmap", UINT64_MAX, 1,
		  MADE_ACT(UNMAP, PID, PID, 2, 3, .map = {.addr = 0x1000, .len = 0x3000}));
	CHECK_ACT("mremap to another place", 22, 1, MADE_REMAP(0x9000, 0x3000));
	CHECK_ACT("mremap in place", UINT64_MAX, 1, MADE_REMAP(0x1000, 0x4000));
}

/* Ends @count records that overlap. @same_addr: each covers all earlier records. */
static void end_many_records(size_t count, bool same_addr)
{
	struct jp_picture_boxes records = {0};
	struct jp_picture_ends ends = {0};
	int failed = 0;

	start_cost();
	for (size_t i = 0; i < count && !failed; i++) {
		const uint64_t addr = 0x1000 * (same_addr ? 1 : i + 1);
		const struct jp_picture_box record = {.pid = PID,
						      .addr = addr,
						      .size = 0x1000 * (same_addr ? i + 1 : count),
						      .start_time = i + 1,
						      .end_time = UINT64_MAX};
		const struct jp_event mapped =
			MADE_EVENT(MAP, PID, i + 1, MADE_MAP(addr, record.size, RX, "//anon"));

		failed = jp_picture_boxes_add(&records, &record)
				 ?: jp_picture_ends_handle(&ends, &mapped);
	}
	failed = failed ?: jp_picture_ends_apply(&ends, &records, 0, count);
	end_cost();
	check(!failed && (!same_addr || records.list[0].end_time == 2), "%zu records end", count);
	free(records.list);
	jp_picture_ends_free(&ends);
}

static void end_grown(size_t count)
{
	end_many_records(count, true);
}

static void end_moved(size_t count)
{
	end_many_records(count, false);
}

TEST(growth)
{
	check_growth("records of a growing mapping", end_grown);
	check_growth("records that overlap", end_moved);
}
