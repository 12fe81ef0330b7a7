// SPDX-License-Identifier: GPL-2.0-only
/* What controls give back: the executable memory that their capture left out, and nothing else. */
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
	{.pid = OTHER, .asked = 100, .answered = 130, .comm = "other"},
	{.pid = PID, .asked = 100, .answered = 130, .comm = "some"},
};

/* Its names, of the process whose maps were read; and of the maps what is executable. */
static void gate(void)
{
	struct jp_evidence evidence = {
		.snapshots = {.list = snapshots, .count = 2},
		.intervals = {.gate = "none", .processes = announced, .nr_processes = 2}};
	const struct jp_control *control = jp_registry_find(JP_CONTROL, "gate");
	struct jp_extras extras;
	const struct jp_event *events;

	if (!check(control && jp_extras_of(&extras, &evidence, control) == 0 && extras.count == 3,
		   "a name and two mappings come back"))
		return;
	events = extras.events;
	check(events[0].type == JP_EVENT_COMM && events[0].pid == PID && events[0].time == 110 &&
		      events[0].comm.exec && strcmp(events[0].comm.name, "some") == 0,
	      "the name, when the maps were read that were asked for");
	for (int i = 1; i < 3; i++)
		check(events[i].type == JP_EVENT_MAP && events[i].pid == PID &&
			      events[i].map.addr == (i == 1 ? 0x2000 : 0x5000) &&
			      events[i].map.len == 0x1000 && events[i].map.prot & JP_PROT_EXEC,
		      "executable memory at %#llx", (unsigned long long)events[i].map.addr);
	check(events[1].map.pgoff == 0x7000 && events[1].map.flags == MAP_SHARED &&
		      strcmp(events[1].map.name, "/bin/a") == 0,
	      "of a file by its offset");
	check(events[2].map.pgoff == 0x5000 && events[2].map.flags == MAP_PRIVATE &&
		      strcmp(events[2].map.name, "//anon") == 0,
	      "and of no file by its address, as the kernel's records have it");
	jp_extras_free(&extras);
}

static int give(const struct jp_evidence *evidence, struct jp_extras *extras)
{
	static const uint64_t times[] = {20, 10, 15, 20};
	char name[] = "name 0";

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		const struct jp_event event = MADE_EVENT(COMM, 0, times[i], .comm = {name, false});

		name[5] = (char)('0' + i);
		if (jp_extras_add(extras, &event))
			return -1;
	}
	memset(name, 'x', sizeof(name) - 1);
	return jp_extras_add_map(extras, &snapshots[0], &maps[1]);
}

/* In the order of time, with texts of its own. */
static void given(void)
{
	static const struct jp_control control = {.name = "test", .add_back = give};
	static const char *const names[] = {"name 1", "name 2", "name 0", "name 3"};
	struct jp_extras extras;

	check(!jp_extras_of(&extras, NULL, NULL) && !extras.count, "without a control nothing");
	jp_extras_free(&extras);
	check(!jp_extras_of(&extras, NULL, &control) && extras.count == 5, "five events");
	for (size_t i = 0; i < 4; i++)
		check(!strcmp(extras.events[i].comm.name, names[i]), "%s at %lu", names[i],
		      (unsigned long)extras.events[i].time);
	check(extras.events[4].time == 90 && extras.events[4].map.ino == 9, "a line of a snapshot");
	jp_extras_free(&extras);
	check(!extras.count && !extras.events, "freed");
}

/* As a truth of the first @count of its acts. */
static void index_acts(struct jp_truth *truth, size_t count)
{
	truth->nr_acts = count;
	jp_acts_of_free(&truth->acts_of);
	check(!jp_acts_of_index(&truth->acts_of, truth->acts, count), "indexed");
}

/* A program that started while the gate was shut: the exec is left out, if it is that process's and
 * within the times. */
static void gate_exec(void)
{
	static struct jp_interval open = {
		.pid = OTHER, .enabling = 290, .enabled = 300, .disabling = 400, .disabled = 410};
	struct jp_event acts[] = {
		MADE_ACT(FORK, PID, 0, 200, 210),
		MADE_ACT(EXEC, PID, 0, 220, 230, .task = {.how = JP_HOW_EXEC}),
	};
	struct jp_truth truth = {.acts = acts, .nr_acts = 2};
	const struct jp_evidence evidence = {.truth = &truth,
					     .intervals = {.gate = "none",
							   .processes = announced,
							   .nr_processes = 2,
							   .intervals = &open,
							   .nr_intervals = 1}};
	const struct jp_control *control = jp_registry_find(JP_CONTROL, "gate");

	index_acts(&truth, 2);
	check(control->exec(&evidence, PID, 220, 230), "an exec while the gate is shut");
	check(!control->exec(&evidence, PID, 221, 230) && !control->exec(&evidence, PID, 220, 229),
	      "not outside of the times");
	check(!control->exec(&evidence, OTHER, 220, 230), "not another process's");
	index_acts(&truth, 1);
	check(!control->exec(&evidence, PID, 220, 230), "not what the truth does not hold");
	index_acts(&truth, 2);
	acts[1].before = 300;
	acts[1].after = 400;
	check(!control->exec(&evidence, PID, 0, UINT64_MAX), "not while anyone's gate is open");
	acts[1].after = 401;
	check(control->exec(&evidence, PID, 0, UINT64_MAX), "but once it begins to shut");
	jp_acts_of_free(&truth.acts_of);
}

/* Every snapshot of a capture by policy `none`, and nothing of any other policy. */
static void snapshot(void)
{
	struct jp_evidence evidence = {.snapshots = {.list = snapshots, .count = 2},
				       .info = {.policy = "none"}};
	const struct jp_control *control = jp_registry_find(JP_CONTROL, "snapshot");
	struct jp_left_out what = {.evidence = &evidence, .pid = PID, .ip = 0x2fff};
	const struct jp_event act = MADE_ACT(MAP, PID, PID, 100, 0);
	struct jp_extras extras;

	if (!check(control && jp_extras_of(&extras, &evidence, control) == 0 && extras.count == 4,
		   "two mappings of each of two snapshots"))
		return;
	jp_extras_free(&extras);
	evidence.info.enabled = 200;
	check(control->mapping(&what, 130) && what.map == &maps[1], "it left out what was there");
	what.ip = 0x3000;
	check(!control->mapping(&what, 130), "but nothing that is not executable");
	what.ip = 0x4fff;
	check(!control->mapping(&what, 130), "and nothing where nothing was");
	what = (struct jp_left_out){.evidence = &evidence, .pid = PID, .ip = 0x5000, .act = &act};
	check(control->mapping(&what, 130) && what.map == &maps[3],
	      "as what came between two snapshots: the second has it");
	evidence.snapshots.count = 1;
	check(!control->mapping(&what, 130), "what came after the only one was not in it");
	what.pid = OTHER;
	check(!control->mapping(&what, 130), "nor another process's");
}

/* A thread that was born after the snapshot began, and by the time that the events were on. */
static void window(void)
{
	struct jp_event born = MADE_ACT(FORK, PID, 77, 0, 0, .task = {.ppid = PID});
	struct jp_truth truth = {.acts = &born, .nr_acts = 1};
	const struct jp_evidence evidence = {.truth = &truth,
					     .snapshots = {.list = snapshots, .count = 1},
					     .info = {.enabled = 200}};
	const struct jp_control *control = jp_registry_find(JP_CONTROL, "window");
	static const struct {
		uint64_t before, after;
		bool left_out;
	} rows[] = {{80, 89, false}, {80, 90, true}, {200, 210, true}, {201, 210, false}};

	index_acts(&truth, 1);
	for (size_t i = 0; control && i < sizeof(rows) / sizeof(*rows); i++) {
		born.before = rows[i].before;
		born.after = rows[i].after;
		check(control->thread(&evidence, 77) == rows[i].left_out, "born at %d to %d: %d",
		      (int)born.before, (int)born.after, rows[i].left_out);
	}
	check(control && !control->thread(&evidence, 78), "and of no other thread");
	jp_acts_of_free(&truth.acts_of);
}

/* Each of @count threads and as many images of one process, asked for one by one. */
static void ask_each(size_t count)
{
	struct jp_event *acts = allocate(2 * count, sizeof(*acts));
	struct jp_truth truth = {.acts = acts};
	const struct jp_evidence evidence = {.truth = &truth, .intervals = {.gate = "none"}};
	const struct jp_evidence open = {.truth = &truth, .intervals = {.gate = "sideband"}};
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		acts[2 * i] = (struct jp_event)MADE_ACT(FORK, PID, (uint32_t)(PID + 1 + i), 2 * i,
							2 * i, .task = {.ppid = PID});
		acts[2 * i + 1] = (struct jp_event)MADE_ACT(EXEC, PID, PID, 2 * i + 1, 2 * i + 1,
							    .task = {.how = JP_HOW_EXEC});
	}
	index_acts(&truth, 2 * count);
	start_cost();
	for (size_t i = 0; i < count; i++) {
		found += !!jp_left_out_thread(&evidence, (uint32_t)(PID + 1 + i));
		found += !!jp_left_out_exec(&evidence, PID, 2 * i, 2 * i + 1);
		found += !!jp_left_out_exec(&open, PID, 0, UINT64_MAX);
	}
	end_cost();
	check(found == 2 * count, "what never opens leaves all out, what never shuts nothing");
	jp_acts_of_free(&truth.acts_of);
	free(acts);
}

int main(void)
{
	given();
	gate();
	gate_exec();
	window();
	snapshot();
	check_growth("threads and images", ask_each);
	return check_done();
}
