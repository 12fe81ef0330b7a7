// SPDX-License-Identifier: GPL-2.0-only
/* Controls add back exactly the executable memory and names that their capture left out. */
#include <sys/mman.h>

#include "harness/model/evidence/control.h"
#include "harness/selftest/support/growth.h"
#include "harness/selftest/support/made_events.h"

enum { PID = 9, OTHER = 10 };

static struct jp_procmap maps[] = {
	{.start = 0x1000, .end = 0x2000, .prot = JP_PROT_READ, .name = "/bin/a"},
	{.start = 0x2000,
	 .end = 0x3000,
	 .offset = 0x7000,
	 .prot = JP_PROT_READ | JP_PROT_EXEC,
	 .ino = 9,
	 .shared = 's',
	 .name = "/bin/a"},
	{.start = 0x3000, .end = 0x4000, .prot = JP_PROT_READ | JP_PROT_WRITE, .name = ""},
	{.start = 0x5000, .end = 0x6000, .prot = JP_PROT_EXEC, .name = ""},
};
static struct jp_snapshot snapshots[] = {
	{.pid = PID, .before = 90, .after = 95, .maps = maps, .count = 4},
	{.pid = PID, .before = 110, .after = 120, .maps = maps, .count = 4},
};
static struct jp_announced announced[] = {
	{.pid = OTHER, .announcement_time = 100, .answer_time = 130, .comm = "other"},
	{.pid = PID, .announcement_time = 100, .answer_time = 130, .comm = "some"},
};

TEST(gate_control)
{
	struct jp_evidence evidence = {
		.snapshots = {.list = snapshots, .count = 2},
		.intervals = {.gate = "none", .processes = announced, .nr_processes = 2}};
	const struct jp_control *control = jp_registry_find(JP_CONTROL, "gate");
	struct jp_extras added_records;
	const struct jp_event *events;

	if (!check(control && jp_extras_collect(&added_records, &evidence, control) == 0 &&
			   added_records.count == 3,
		   "a name and two mappings are added back"))
		return;
	events = added_records.events;
	check(events[0].type == JP_EVENT_COMM && events[0].pid == PID && events[0].time == 110 &&
		      events[0].comm.exec && strcmp(events[0].comm.name, "some") == 0,
	      "the name has the time of the requested snapshot");
	for (int i = 1; i < 3; i++)
		check(events[i].type == JP_EVENT_MAP && events[i].pid == PID &&
			      events[i].map.addr == (i == 1 ? 0x2000 : 0x5000) &&
			      events[i].map.len == 0x1000 && events[i].map.prot & JP_PROT_EXEC,
		      "executable memory at %#llx is added back",
		      (unsigned long long)events[i].map.addr);
	check(events[1].map.pgoff == 0x7000 && events[1].map.flags == MAP_SHARED &&
		      strcmp(events[1].map.name, "/bin/a") == 0,
	      "a file's mapping has its offset and is shared");
	check(events[2].map.pgoff == 0x5000 && events[2].map.flags == MAP_PRIVATE &&
		      strcmp(events[2].map.name, "//anon") == 0,
	      "anonymous memory has its address as offset, like the kernel's records");
	jp_extras_free(&added_records);
}

static int add_back(const struct jp_evidence *evidence, struct jp_extras *added_records)
{
	static const uint64_t times[] = {20, 10, 15, 20};
	char name[] = "name 0";

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		const struct jp_event event = MADE_EVENT(COMM, 0, times[i], .comm = {name, false});

		name[5] = (char)('0' + i);
		if (jp_extras_add_event(added_records, &event))
			return -1;
	}
	memset(name, 'x', sizeof(name) - 1);
	return jp_extras_add_map(added_records, &snapshots[0], &maps[1]);
}

TEST(order_of_controls)
{
	static const struct jp_control control = {.name = "test", .add_back = add_back};
	static const char *const names[] = {"name 1", "name 2", "name 0", "name 3"};
	struct jp_extras added_records;

	check(!jp_extras_collect(&added_records, NULL, NULL) && !added_records.count,
	      "without control nothing comes");
	jp_extras_free(&added_records);
	check(!jp_extras_collect(&added_records, NULL, &control) && added_records.count == 5,
	      "five are added back");
	for (size_t i = 0; i < 4; i++)
		check(!strcmp(added_records.events[i].comm.name, names[i]),
		      "%s comes at its time %lu", names[i],
		      (unsigned long)added_records.events[i].time);
	check(added_records.events[4].time == 90 && added_records.events[4].map.ino == 9,
	      "a line of a snapshot is added back");
	jp_extras_free(&added_records);
	check(!added_records.count && !added_records.events, "the freed list is empty");
}

/* Makes @truth one of its first @count acts. */
static void set_acts(struct jp_truth *truth, size_t count)
{
	truth->nr_acts = count;
	jp_acts_of_free(&truth->acts_of);
	check(!jp_acts_of_index(&truth->acts_of, truth->acts, count), "acts are indexed");
}

TEST(snapshot_control)
{
	struct jp_evidence evidence = {.snapshots = {.list = snapshots, .count = 2},
				       .info = {.policy = "none"}};
	const struct jp_control *control = jp_registry_find(JP_CONTROL, "snapshot");
	struct jp_left_out left_out = {.evidence = &evidence, .pid = PID, .ip = 0x2fff};
	const struct jp_event act = MADE_ACT(MAP, PID, PID, 100, 0);
	struct jp_extras added_records;

	if (!check(control && jp_extras_collect(&added_records, &evidence, control) == 0 &&
			   added_records.count == 4,
		   "two mappings of each of two snapshots are added back"))
		return;
	jp_extras_free(&added_records);
	evidence.info.enabled = 200;
	check(control->mapping(&left_out, 130) && left_out.map == &maps[1],
	      "a mapping of the snapshot was left out");
	left_out.ip = 0x3000;
	check(!control->mapping(&left_out, 130), "a mapping that is not executable was not");
	left_out.ip = 0x4fff;
	check(!control->mapping(&left_out, 130), "unmapped memory was not");
	left_out =
		(struct jp_left_out){.evidence = &evidence, .pid = PID, .ip = 0x5000, .act = &act};
	check(control->mapping(&left_out, 130) && left_out.map == &maps[3],
	      "a mapping made between two snapshots was left out");
	evidence.snapshots.count = 1;
	check(!control->mapping(&left_out, 130), "a mapping made after the only snapshot was not");
	left_out.pid = OTHER;
	check(!control->mapping(&left_out, 130), "another process's mapping was not");
}

/* The window control left out a thread that started between snapshot and events. */
TEST(window_control)
{
	struct jp_event start = MADE_ACT(FORK, PID, 77, 0, 0, .task = {.ppid = PID});
	struct jp_truth truth = {.acts = &start, .nr_acts = 1};
	const struct jp_evidence evidence = {.truth = &truth,
					     .snapshots = {.list = snapshots, .count = 1},
					     .info = {.enabled = 200}};
	const struct jp_control *control = jp_registry_find(JP_CONTROL, "window");
	static const struct {
		uint64_t before, after;
		bool left_out;
	} rows[] = {{80, 89, false}, {80, 90, true}, {200, 210, true}, {201, 210, false}};

	set_acts(&truth, 1);
	for (size_t i = 0; control && i < sizeof(rows) / sizeof(*rows); i++) {
		start.before = rows[i].before;
		start.after = rows[i].after;
		check(control->thread(&evidence, 77) == rows[i].left_out,
		      "a thread started from %d to %d: left out %d", (int)start.before,
		      (int)start.after, rows[i].left_out);
	}
	check(control && !control->thread(&evidence, 78), "no other thread is left out");
	jp_acts_of_free(&truth.acts_of);
}

/* Queries each of @count threads and images of one process. */
static void ask_each_control(size_t count)
{
	struct jp_event *acts = allocate(2 * count, sizeof(*acts));
	struct jp_truth truth = {.acts = acts};
	const struct jp_evidence evidence = {.truth = &truth, .intervals = {.gate = "none"}};
	const struct jp_evidence open = {.truth = &truth, .intervals = {.gate = "sideband"}};
	size_t nr_missing = 0;

	for (size_t i = 0; i < count; i++) {
		acts[2 * i] = (struct jp_event)MADE_ACT(FORK, PID, (uint32_t)(PID + 1 + i), 2 * i,
							2 * i, .task = {.ppid = PID});
		acts[2 * i + 1] = (struct jp_event)MADE_ACT(EXEC, PID, PID, 2 * i + 1, 2 * i + 1,
							    .task = {.start_kind = JP_START_EXEC});
	}
	set_acts(&truth, 2 * count);
	start_cost();
	for (size_t i = 0; i < count; i++) {
		nr_missing += !!jp_control_find_missing_thread(&evidence, (uint32_t)(PID + 1 + i));
		nr_missing += !!jp_control_find_missing_exec(&evidence, PID, 2 * i, 2 * i + 1);
		nr_missing += !!jp_control_find_missing_exec(&open, PID, 0, UINT64_MAX);
	}
	end_cost();
	check(nr_missing == 2 * count, "a shut gate leaves out all, an open gate nothing");
	jp_acts_of_free(&truth.acts_of);
	free(acts);
}

TEST(growth)
{
	check_growth("threads and images", ask_each_control);
}
