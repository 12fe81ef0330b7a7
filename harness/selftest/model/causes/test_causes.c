// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests causes of mappings that a capture lacks. In every row an attached process maps one piece of
 * code. Its snapshot is read from 200 to 210, its events are enabled at 100 or 300, and the
 * question is why the mapping is unknown at 1000.
 */
#include <inttypes.h>

#include "harness/judge/findings.h"
#include "harness/judge/unmapped.h"
#include "harness/model/causes/causes.h"
#include "harness/selftest/support/check.h"
#include "validators/coverage.h"
#include "validators/stack_fault.h"

enum {
	PID = 7,
	OTHER = 8, /* shares the space of PID */
	CODE = 0x1000,
	SIZE = 0x1000,
	SNAPSHOT = 200,
	READ = 210,
	ASKED = 1000,
	NEVER = 0,
	MAP = JP_EVENT_MAP,
	REMAP = JP_EVENT_REMAP,
	PROTECT = JP_EVENT_PROTECT
};

static struct jp_event make_act(enum jp_event_type type, uint32_t pid, uint64_t before)
{
	struct jp_event act = {.type = type, .pid = pid, .tid = pid, .before = before};

	act.after = before + 5;
	act.map.addr = type == JP_EVENT_REMAP ? 16 * CODE : CODE;
	act.map.len = act.map.new_len = SIZE;
	act.map.new_addr = CODE;
	act.map.prot = JP_PROT_READ | JP_PROT_EXEC;
	return act;
}

/* The snapshot's entry for the code. */
enum snapshot_entry { ABSENT, NAMED, PATHLESS, WRITABLE };

/* A process, its snapshot's entry, its record, and its act in the truth. */
static struct {
	struct jp_event act;
	struct jp_procmap map;
	struct jp_snapshot snapshot;
	struct jp_truth truth;
	struct jp_span span;
	struct jp_spans known;
	struct jp_evidence evidence;
} scene;

/* Sets the scene. @acted: time of the act, @record_time: time of the record; NEVER: it did not
 * happen. */
static void set_scene(enum jp_event_type type, uint64_t acted, enum snapshot_entry entry,
		      uint64_t record_time)
{
	scene.act = make_act(type, PID, acted);
	scene.map = (struct jp_procmap){
		.start = entry == ABSENT ? 8 * CODE : CODE,
		.end = (entry == ABSENT ? 8 * CODE : CODE) + SIZE,
		.prot = entry == WRITABLE ? JP_PROT_READ | JP_PROT_WRITE
					  : JP_PROT_READ | JP_PROT_EXEC,
		.name = entry == NAMED ? "/lib" : "",
	};
	scene.snapshot = (struct jp_snapshot){PID, SNAPSHOT, READ, &scene.map, 1};
	scene.truth = (struct jp_truth){.acts = &scene.act, .nr_acts = acted != NEVER};
	scene.span = (struct jp_span){.pid = PID,
				      .mapping = {.start = CODE, .end = CODE + SIZE},
				      .open_before = record_time};
	scene.known = (struct jp_spans){.spans = &scene.span, .count = record_time != NEVER};
	scene.evidence = (struct jp_evidence){.truth = &scene.truth,
					      .snapshots = {.list = &scene.snapshot, .count = 1},
					      .info = {.policy = "exec", .enabled = 100}};
}

static struct jp_unmapped find_unmapped(uint64_t ip, uint64_t time)
{
	struct jp_unmapped unmapped = {.cause = "out of memory"};

	if (!jp_acts_at_index(&scene.truth.acts_at, scene.truth.acts, scene.truth.nr_acts))
		unmapped = jp_unmapped(&scene.evidence, &scene.known, PID, ip, time);
	jp_acts_at_free(&scene.truth.acts_at);
	scene.truth.acts_at = (struct jp_acts_at){0};
	return unmapped;
}

static const char *find_cause(uint64_t time)
{
	return find_unmapped(CODE, time).cause;
}

TEST(causes_of_attach)
{
	static const struct {
		const char *label, *policy;
		uint64_t enabled, act; /* @act NEVER: the truth has no act */
		int type;
		enum snapshot_entry entry;
		uint64_t record_time; /* time of the record; NEVER: there is no record */
		const char *cause;
	} table[] = {
		{"older code that the policy skips", "paths", 100, 50, MAP, PATHLESS, NEVER,
		 "pathless"},
		{"native code that the policy skips", "paths", 100, NEVER, MAP, PATHLESS, NEVER,
		 "pathless"},
		{"older code with a path", "paths", 100, 50, MAP, NAMED, NEVER, "no-record"},
		{"older code, not executable in the snapshot", "paths", 100, 50, MAP, WRITABLE,
		 NEVER, "no-record"},
		{"older code in no snapshot", "paths", 100, 50, MAP, ABSENT, NEVER, "no-record"},
		{"older code, all synthesized by the policy", "exec", 100, 50, MAP, PATHLESS, NEVER,
		 "no-record"},
		{"older code, none synthesized by the policy", "none", 100, 50, MAP, NAMED, NEVER,
		 "snapshot"},
		{"code mapped as events were enabled", "paths", 100, 100, MAP, PATHLESS, NEVER,
		 "pathless"},
		{"code mapped just after events were enabled", "paths", 100, 101, MAP, PATHLESS,
		 NEVER, "no-record"},
		{"code moved there, which makes no record", "paths", 100, 150, REMAP, PATHLESS,
		 NEVER, "pathless"},
		{"code moved there as the snapshot ended", "paths", 100, READ, REMAP, PATHLESS,
		 NEVER, "pathless"},
		{"code moved there after the snapshot", "paths", 100, READ + 1, REMAP, PATHLESS,
		 NEVER, "mremap"},
		{"code mapped later", "paths", 100, 500, MAP, PATHLESS, NEVER, "no-record"},
		{"code with a record, unknown since", "paths", 100, 50, MAP, PATHLESS, 210,
		 "no-record"},
		{"code with a record at that time", "paths", 100, 50, MAP, PATHLESS, ASKED,
		 "no-record"},
		{"code with a later record", "paths", 100, 50, MAP, PATHLESS, ASKED + 1,
		 "pathless"},
		{"a record of older memory", "paths", 100, 50, MAP, PATHLESS, 49, "pathless"},
		{"a record as the code was mapped", "paths", 100, 50, MAP, PATHLESS, 50,
		 "no-record"},
		{"moved code", "exec", 100, 500, REMAP, ABSENT, NEVER, "mremap"},
		{"code moved at that time", "exec", 100, ASKED, REMAP, ABSENT, NEVER, "mremap"},
		{"code moved later", "exec", 100, ASKED + 1, REMAP, ABSENT, NEVER, "no-record"},
		{"code moved before the snapshot has it", "exec", 100, 195, REMAP, PATHLESS, NEVER,
		 "no-record"},
		{"code moved while the snapshot was read", "exec", 100, 196, REMAP, PATHLESS, NEVER,
		 "mremap"},
		{"moved code, not executable in the snapshot", "exec", 100, 150, REMAP, WRITABLE,
		 NEVER, "mremap"},
		{"moved code with a record, unknown since", "exec", 100, 500, REMAP, ABSENT, 600,
		 "no-record"},
		{"code between snapshot and events", "exec", 300, 250, MAP, ABSENT, NEVER,
		 "window"},
		{"code mapped as the snapshot began", "exec", 300, 195, MAP, ABSENT, NEVER,
		 "window"},
		{"code mapped before that", "exec", 300, 194, MAP, ABSENT, NEVER, "no-record"},
		{"code protected as events were enabled", "exec", 300, 300, PROTECT, ABSENT, NEVER,
		 "window"},
		{"code mapped after that", "exec", 300, 301, MAP, ABSENT, NEVER, "no-record"},
		{"code in between that the snapshot has", "exec", 300, 205, MAP, PATHLESS, NEVER,
		 "no-record"},
		{"code in between with a record", "exec", 300, 250, MAP, ABSENT, 400, "no-record"},
		{"code moved in between", "exec", 300, 250, REMAP, ABSENT, NEVER, "window"},
	};
	static const uint64_t places[] = {CODE, CODE + SIZE - 1};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct jp_unmapped unmapped;
		char text[256];

		set_scene(table[i].type, table[i].act, table[i].entry, table[i].record_time);
		strcpy(scene.evidence.info.policy, table[i].policy);
		scene.evidence.info.enabled = table[i].enabled;
		unmapped = find_unmapped(places[i % 2], ASKED);
		check(strcmp(unmapped.cause, table[i].cause) == 0, "%s: %s (%s)", table[i].label,
		      unmapped.cause, jp_unmapped_text(&unmapped, text, sizeof(text)));
	}
}

TEST(before_snapshot)
{
	set_scene(JP_EVENT_REMAP, 150, PATHLESS, 160);
	scene.span.mapping = (struct jp_mapping){.start = CODE - SIZE, .end = CODE};
	for (uint64_t time = READ - 1; time <= READ; time++)
		check(strcmp(find_cause(time), time < READ ? "mremap" : "no-record") == 0, "%s: %s",
		      time < READ ? "before the snapshot is read" : "after it is read",
		      find_cause(time));
}

TEST(record_before_move)
{
	set_scene(JP_EVENT_REMAP, 150, PATHLESS, 1);
	scene.span.open_before = 0; /* a record of the snapshot */
	for (uint64_t ended = 155; ended <= 156; ended++) {
		scene.span.close_before = scene.span.close_after = ended;
		check(strcmp(find_cause(ASKED), ended == 155 ? "mremap" : "no-record") == 0,
		      "the snapshot's mapping is replaced %s: %s",
		      ended == 155 ? "before the code moved there" : "afterwards",
		      find_cause(ASKED));
	}
}

TEST(record_before_exec)
{
	struct jp_truth_incarnation incarnations[] = {{.pid = PID, .until = 100},
						      {.pid = PID, .before = 100},
						      {.pid = PID, .before = 2000}};

	for (uint64_t recorded = 99; recorded <= 100; recorded++) {
		set_scene(JP_EVENT_MAP, NEVER, NAMED, recorded);
		scene.truth.incarnations = incarnations;
		scene.truth.nr_incarnations = 3;
		scene.evidence.info = (struct jp_capture_info){.policy = "none", .enabled = 150};
		check(strcmp(find_cause(ASKED), recorded < 100 ? "snapshot" : "no-record") == 0,
		      "a record %s the exec: %s", recorded < 100 ? "before" : "at",
		      find_cause(ASKED));
	}
}

/* A process is forked while a profiler attaches, and has a record of a later mapping. */
TEST(fork_while_attaching)
{
	static const struct {
		const char *label;
		uint64_t started, first_enabled;
		uint32_t recorder; /* the process whose record became the mapping */
		bool forked;
		const char *cause;
	} table[] = {
		{"fork unrecorded", 50, 0, PID, true, "not-watched"},
		{"fork recorded", 50, 0, OTHER, true, "no-record"},
		{"exec since", 50, 0, PID, false, "no-record"},
		{"fork before the profiler started", 150, 0, PID, true, "no-record"},
		{"our capture, which states the time", 50, 60, PID, true, "no-record"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct jp_truth_incarnation image = {.pid = PID,
						     .before = 100,
						     .after = 101,
						     .until = UINT64_MAX,
						     .is_forked = table[i].forked,
						     .is_first = true};

		set_scene(JP_EVENT_MAP, NEVER, ABSENT, 300);
		scene.span.mapping = (struct jp_mapping){
			.start = 8 * CODE, .end = 9 * CODE, .pid = table[i].recorder};
		scene.truth.incarnations = &image;
		scene.truth.nr_incarnations = 1;
		scene.evidence.info = (struct jp_capture_info){
			.policy = "exec", .enabled = 400, .first_enabled = table[i].first_enabled};
		scene.evidence.watched.started = table[i].started;
		check(strcmp(find_cause(ASKED), table[i].cause) == 0, "%s: %s", table[i].label,
		      find_cause(ASKED));
	}
}

/* Tests code that is mapped before, while or after a profiler attaches. Unlike our captures, the
 * profiler does not state when it enabled its first event. */
TEST(attach_of_profiler)
{
	static const struct {
		uint64_t act, first_enabled;
		const char *cause;
	} table[] = {{40, 0, "no-record"},
		     {70, 0, "window"},
		     {100, 0, "window"},
		     {101, 0, "no-record"},
		     {70, 60, "no-record"}};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		set_scene(JP_EVENT_MAP, table[i].act, NAMED, NEVER);
		scene.evidence.watched.started = 50;
		scene.evidence.info.first_enabled = table[i].first_enabled;
		check(strcmp(find_cause(ASKED), table[i].cause) == 0,
		      "attached from 50 to 100, mapped at %" PRIu64 ": %s", table[i].act,
		      find_cause(ASKED));
	}
}

TEST(causes_of_shared_memory)
{
	for (int recorded = 0; recorded < 3; recorded++) {
		struct jp_event acts[] = {make_act(JP_EVENT_FORK, OTHER, 100),
					  make_act(JP_EVENT_MAP, OTHER, 200)};

		set_scene(JP_EVENT_MAP, NEVER, ABSENT, recorded ? 205 : NEVER);
		scene.span.pid = recorded == 1 ? OTHER : PID + 100;
		scene.truth = (struct jp_truth){.acts = acts, .nr_acts = 2};
		scene.evidence.snapshots.count = 0;
		scene.evidence.info.enabled = 0;
		acts[0].task.ppid = PID;
		acts[0].task.start_kind = JP_START_SHARE;
		check(strcmp(find_cause(ASKED), recorded == 1 ? "shared-mm" : "no-record") == 0,
		      "mapped by another process, with %s: %s",
		      recorded == 1 ? "a record" : "no record", find_cause(ASKED));
	}
}

/* OTHER, which the snapshot shows, starts PID at 300. */
TEST(causes_of_inherited_memory)
{
	static const struct {
		const char *label;
		enum jp_event_type start;
		uint64_t act_time, record_time; /* act of PID, record of OTHER; NEVER: none */
		const char *cause;
	} table[] = {
		{"inherited older code", JP_EVENT_FORK, NEVER, NEVER, "snapshot"},
		{"inherited code with a record", JP_EVENT_FORK, NEVER, 250, "no-record"},
		{"inherited code with a later record", JP_EVENT_FORK, NEVER, 301, "snapshot"},
		{"the code of a new image", JP_EVENT_EXEC, NEVER, NEVER, "no-record"},
		{"code mapped after the fork", JP_EVENT_FORK, 300, NEVER, "no-record"},
		{"code mapped by an earlier process", JP_EVENT_FORK, 299, NEVER, "snapshot"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct jp_event start = make_act(table[i].start, PID, 300),
				act = make_act(JP_EVENT_MAP, PID, table[i].act_time),
				acts[] = {act.before < 300 ? act : start,
					  act.before < 300 ? start : act};
		const bool acted = table[i].act_time != NEVER;

		set_scene(JP_EVENT_MAP, NEVER, NAMED, table[i].record_time);
		strcpy(scene.evidence.info.policy, "none");
		scene.snapshot.pid = scene.span.pid = OTHER;
		acts[0].task.ppid = acts[1].task.ppid = OTHER;
		scene.truth =
			(struct jp_truth){.acts = acted ? acts : &start, .nr_acts = 1 + acted};
		start.task.ppid = OTHER;
		check(!jp_acts_of_index(&scene.truth.acts_of, scene.truth.acts,
					scene.truth.nr_acts),
		      "acts are indexed");
		check(strcmp(find_cause(ASKED), table[i].cause) == 0, "%s: %s", table[i].label,
		      find_cause(ASKED));
		jp_acts_of_free(&scene.truth.acts_of);
	}
}

/* PID announced itself to the gate at 150 and got the answer at 220; its events were on from 220 to
 * 300, and those of OTHER from 20 to 40. */
TEST(causes_of_gated_capture)
{
	static const struct {
		const char *label, *gate;
		uint64_t act;
		enum snapshot_entry entry;
		const char *cause;
	} table[] = {
		{"before all times", "none", 10, PATHLESS, "gate"},
		{"before all times, in no snapshot", "none", 10, ABSENT, "no-record"},
		{"before all times, not executable", "none", 10, WRITABLE, "no-record"},
		{"in the other interval", "none", 25, PATHLESS, "no-record"},
		{"before the other interval", "none", 19, PATHLESS, "gate"},
		{"first in the other interval", "none", 20, PATHLESS, "no-record"},
		{"last in the other interval", "none", 35, PATHLESS, "no-record"},
		{"after the other interval", "none", 36, PATHLESS, "gate"},
		{"as the announcement's snapshot ended", "backfill", READ, PATHLESS, "no-record"},
		{"before all times, recorded at the announcement", "backfill", 10, PATHLESS,
		 "no-record"},
		{"after the announcement", "backfill", 212, PATHLESS, "gate"},
		{"in its interval", "backfill", 230, PATHLESS, "no-record"},
		{"behind its interval", "none", 400, PATHLESS, "gate"},
		{"while mappings are always recorded", "sideband", 10, PATHLESS, "no-record"},
		{"at no time of the truth", "none", NEVER, NAMED, "gate"},
		{"at no time of the truth, recorded", "backfill", NEVER, NAMED, "no-record"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct jp_announced process = {
			.pid = PID, .announcement_time = 150, .answer_time = 220};
		struct jp_interval intervals[] = {{1, OTHER, 18, 20, 40, 42},
						  {0, PID, 215, 220, 300, 302}};

		set_scene(JP_EVENT_MAP, table[i].act, table[i].entry, NEVER);
		scene.evidence.info = (struct jp_capture_info){.enabled = 0};
		scene.evidence.intervals = (struct jp_intervals){.processes = &process,
								 .nr_processes = 1,
								 .intervals = intervals,
								 .nr_intervals = 2};
		strcpy(scene.evidence.intervals.gate, table[i].gate);
		check(strcmp(find_cause(ASKED), table[i].cause) == 0, "gate %s, mapped %s: %s",
		      table[i].gate, table[i].label, find_cause(ASKED));
	}
}

/* A gate cannot leave out a thread that started while all events were enabled. */
TEST(gated_threads)
{
	struct jp_interval interval = {0, OTHER, 18, 20, 40, 42};

	for (uint64_t started = 10; started <= 50; started += 20) {
		struct jp_event act = make_act(JP_EVENT_FORK, PID, started);
		struct jp_truth truth = {.acts = &act, .nr_acts = 1};
		struct jp_evidence evidence = {
			.truth = &truth,
			.intervals = {.gate = "none", .intervals = &interval, .nr_intervals = 1},
		};
		const struct jp_control *control;

		check(!jp_acts_of_index(&truth.acts_of, &act, 1), "acts are indexed");
		control = jp_control_find_missing_thread(&evidence, PID);
		jp_acts_of_free(&truth.acts_of);
		check(!control == (started == 30), "a thread started at %d is left out by %s",
		      (int)started, control ? control->name : "none");
	}
}

TEST(earliest_time)
{
	static const struct {
		uint64_t before, after, slack, start;
	} table[] = {
		{90, 95, 0, 210},   {100, 105, 0, 210}, {101, 106, 0, 106}, {101, 106, 9, 115},
		{300, 310, 0, 310}, {90, 210, 0, 210},  {90, 211, 0, 211},  {100, 205, 9, 214},
	};
	struct jp_snapshot snapshots[] = {{.pid = OTHER, .after = 900},
					  {.pid = PID, .after = READ}};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct jp_evidence evidence = {.snapshots = {.list = snapshots, .count = 2},
					       .info = {.enabled = 100, .slack = table[i].slack}};
		uint64_t from = jp_evidence_get_time_known_from(&evidence, PID, table[i].before,
								table[i].after);

		check(from == table[i].start,
		      "a mapping made from %d to %d can be known from %d on", (int)table[i].before,
		      (int)table[i].after, (int)from);
	}
}

/* Tests the times at which a mapping can be known: with some gates only the process's own
 * intervals. */
TEST(known_windows)
{
	static const struct {
		const char *gate;
		uint32_t pid;
		uint64_t start, end; /* 0: never */
	} rows[] = {
		{"", PID, 106, 900},           {"", OTHER, 106, 900},   {"sideband", PID, 106, 900},
		{"sideband", OTHER, 106, 900}, {"none", PID, 300, 400}, {"backfill", OTHER, 0, 0},
	};
	struct jp_interval interval = {0, PID, 290, 300, 400, 410};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct jp_evidence evidence = {
			.info = {.enabled = 100, .stopped = 900},
			.intervals = {.intervals = &interval, .nr_intervals = 1}};
		uint64_t from = 0, to = 0;
		size_t cursor = 0;
		bool is_known;

		strcpy(evidence.intervals.gate, rows[i].gate);
		is_known = jp_evidence_next_known_window(&evidence, rows[i].pid, 101, 106, &cursor,
							 &from, &to);
		check(is_known == !!rows[i].end &&
			      (!is_known || (from == rows[i].start && to == rows[i].end)),
		      "gate '%s': pid %u can be known from %d to %d", rows[i].gate, rows[i].pid,
		      (int)from, (int)to);
		check(!jp_evidence_next_known_window(&evidence, rows[i].pid, 101, 106, &cursor,
						     &from, &to),
		      "and at no other time");
	}
}

/* If wrong unwind information led to the right caller, a missing mapping stopped the walk; if it
 * led elsewhere, the information did. */
TEST(ends_of_walks)
{
	/* The last address is past the end. */
	static uint64_t full_stack[] = {0x100, 0x200, 0x300, 0x400},
			repeated[] = {0x100, 0x100, 0x300};
	static const struct {
		const char *label;
		uint64_t *whole;
		uint32_t count;
		uint64_t where;
		const char *cause;
	} table[] = {
		{"to the caller", full_stack, 1, 0x200, "no-record"},
		{"to the caller's caller", full_stack, 1, 0x300, "bad-cfi"},
		{"to the caller, one step later", full_stack, 2, 0x300, "no-record"},
		{"elsewhere", full_stack, 1, 0x250, "bad-cfi"},
		{"to itself, in a recursion", repeated, 1, 0x100, "bad-cfi"},
		{"beyond the root", full_stack, 3, 0x400, "bad-cfi"},
	};
	struct jp_truth truth = {.nr_acts = 0};
	struct jp_evidence evidence = {.truth = &truth};
	struct jp_spans spans = {.count = 0};
	struct jp_event event = {.pid = PID, .time = ASKED};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct jp_truth_stack stack = {.frames = table[i].whole, .nr_whole = 3};
		const struct jp_unwound unwound = {.frames = table[i].whole,
						   .count = table[i].count,
						   .stop = JP_UNWIND_BAD_CFI,
						   .stop_addr = table[i].where};
		struct jp_stack_fault fault = jp_stack_fault_find_at_end(&evidence, &spans, &stack,
									 NULL, &event, &unwound);

		check(strcmp(fault.cause, table[i].cause) == 0, "a walk that led %s: %s",
		      table[i].label, fault.cause);
		check(fault.kind != JP_FAULT_UNMAPPED ||
			      fault.unmapped.left_out.ip == table[i].where - 1,
		      "the lookup uses the address before the return address");
	}
}

TEST(identical_mappings)
{
	static const struct {
		const char *truth, *known;
		enum jp_backing truth_is, known_is;
		uint64_t truth_offset, known_offset;
		bool identical;
	} table[] = {
		{"/a", "/a", JP_BACKING_FILE, JP_BACKING_FILE, 0, 0, true},
		{"/a", "/a", JP_BACKING_FILE, JP_BACKING_FILE, 0, 4096, false},
		{"/a", "/a", JP_BACKING_FILE, JP_BACKING_MEMFD, 0, 0, false},
		{"/a", "/b", JP_BACKING_FILE, JP_BACKING_FILE, 0, 0, false},
		{"/a", "/ab", JP_BACKING_FILE, JP_BACKING_FILE, 0, 0, false},
		{"/ab", "/a", JP_BACKING_FILE, JP_BACKING_FILE, 0, 0, false},
		{"/a", "/a (deleted)", JP_BACKING_FILE, JP_BACKING_FILE, 0, 0, true},
		{"/a", "/a (deleted) ", JP_BACKING_FILE, JP_BACKING_FILE, 0, 0, false},
		{"/a (deleted)", "/a", JP_BACKING_FILE, JP_BACKING_FILE, 0, 0, false},
		{"/memfd:a", "/memfd:a (deleted)", JP_BACKING_MEMFD, JP_BACKING_MEMFD, 0, 0, false},
		{"/memfd:a", "/memfd:a", JP_BACKING_MEMFD, JP_BACKING_MEMFD, 0, 0, true},
		{"/memfd:a", "/memfd:a", JP_BACKING_MEMFD, JP_BACKING_MEMFD, 4096, 0, false},
		{"//anon", "[anon:a]", JP_BACKING_ANON, JP_BACKING_ANON, 0, 4096, true},
		{"[heap]", "//anon", JP_BACKING_HEAP, JP_BACKING_ANON, 0, 0, true},
		{"//anon", "[heap]", JP_BACKING_ANON, JP_BACKING_HEAP, 0, 0, false},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct jp_mapping truth = {.start = CODE,
						 .pgoff = table[i].truth_offset,
						 .name = table[i].truth,
						 .backing = table[i].truth_is};
		/* The start may differ if the address contains the same byte of the file. */
		const struct jp_mapping mapping = {.start = CODE - 4096,
						   .pgoff = table[i].known_offset - 4096,
						   .name = table[i].known,
						   .backing = table[i].known_is};

		check(jp_coverage_is_same_mapping(&truth, &mapping, CODE + 64) ==
			      table[i].identical,
		      "%s at %d, known as %s at %d: %s", table[i].truth, (int)table[i].truth_offset,
		      table[i].known, (int)table[i].known_offset,
		      table[i].identical ? "the same" : "another");
	}
}

TEST(words_of_causes)
{
	static const struct {
		const char *metric, *word, *id;
	} table[] = {
		{"broken.chain", "max-stack", "depth-limit"},
		{"broken.dump", "max-stack", "depth-limit"},
		{"coverage.stale", "max-stack", NULL},
		{"brokenness", "max-stack", NULL},
		{"broken.chain", "complete", "jit-no-frame-pointer"},
		{"broken.dump_fp", "complete", "jit-no-frame-pointer"},
		{"broken.dump", "complete", NULL},
		{"broken.dump_cfi", "complete", NULL},
		{"broken.chain", "mremap", NULL},
		{"names.unnamed", "hidden", "jitdump-hidden"},
		{"broken.chain", "nonsense", NULL},
	};
	const struct jp_cause_word *word;
	char text[80];

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct jp_cause *cause = jp_cause_of_word(table[i].metric, table[i].word);

		check(cause ? table[i].id && !strcmp(cause->id, table[i].id) : !table[i].id,
		      "%s of %s: %s", table[i].word, table[i].metric, cause ? cause->id : "none");
	}
	for (size_t i = 0; (word = jp_cause_word_at(i)); i++)
		check((!word->id || jp_cause_find(word->id)) && *word->text,
		      "the cause of %s exists", word->word);
	check(!strcmp(jp_cause_text("broken.chain", "max-stack", text, sizeof(text)),
		      "depth-limit (max-stack)") &&
		      !strcmp(jp_cause_text("broken.chain", "mremap", text, sizeof(text)),
			      "mremap"),
	      "the text has the cause and the validator's word");
}

TEST(invented_causes)
{
	struct jp_findings findings = {.nr_metrics = 0};

	check(!jp_findings_count_failure(&findings, "names.unnamed", "hidden", "first") &&
		      !*findings.error,
	      "a cause of the table is accepted");
	check(!jp_findings_count_failure(&findings, "coverage.stale", "nonsense", "first") &&
		      !*findings.error,
	      "other metrics may have any cause");
	check(!jp_findings_count_failure(&findings, "names.unnamed", "nonsense", "first") &&
		      strstr(findings.error, "nonsense"),
	      "an unknown cause makes the case an error");
	jp_findings_free(&findings);
}
