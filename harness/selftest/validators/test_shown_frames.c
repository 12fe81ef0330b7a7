// SPDX-License-Identifier: GPL-2.0-only
/* Comparing shown frames with those of a file, following late threads, and recognizing known
 * defects. */
#include <elf.h>
#include <inttypes.h>

#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_events.h"
#include "validators/shown_known.h"

enum { MOST = 8 };

static struct jp_replay *spaces;
static const uint64_t frames[] = {0x100, 0x200, 0x300, 0x400};
static const struct jp_event event = {.pid = 7, .sample = {.chain = frames}};

/* Compares @shown (up to the first 0) with the callchain of @nr_user frames and the dump's @nr_dump
 * frames. */
static struct jp_shown_fault compare(const uint64_t *shown, uint32_t nr_user, uint32_t nr_dump,
				     bool ends)
{
	const struct jp_held held = {.event = &event,
				     .user_chain = frames,
				     .nr_user = nr_user,
				     .chained = nr_user,
				     .has_dump = nr_dump,
				     .dump = nr_dump ? frames : NULL,
				     .nr_dump = nr_dump,
				     .reaches_root = ends};
	struct jp_shown_frame list[MOST] = {{0}};
	uint32_t count = 0;

	for (; shown[count]; count++)
		list[count] = (struct jp_shown_frame){.addr = shown[count], .placed = true};
	return jp_shown_compare(spaces, &held, list, count);
}

TEST(spaces)
{
	spaces = jp_replay_new();
	if (!spaces)
		exit(99);
}

TEST(comparison)
{
	static const struct {
		uint64_t shown[MOST];
		uint32_t nr_user, nr_dump;
		bool ends;
		const char *cause;
		uint32_t at;
	} table[] = {
		{{0x100, 0x200, 0x300}, 3, 0, false, NULL, 3},
		{{0x100, 0x1ff, 0x2ff}, 3, 0, false, NULL, 3},
		{{0xff, 0x200, 0x300}, 3, 0, false, "other-frame", 0},
		{{0}, 3, 0, false, "no-frames", 0},
		{{0x100, 0x200}, 3, 0, false, "cut", 2},
		{{0x100, 0x300}, 3, 0, false, "missing-frame", 1},
		{{0x200, 0x300}, 3, 0, false, "missing-frame", 0},
		{{0x100, 0x300, 0x200}, 3, 0, false, "frame-order", 1},
		{{0x100, 0x900, 0x200, 0x300}, 3, 0, false, "extra-frame", 1},
		{{0x100, 0x200, 0x300, 0x400}, 3, 0, false, "extra-frame", 3},
		{{0x100, 0x900, 0x300}, 3, 0, false, "other-frame", 1},
		/* A walk may go on behind code without call frame information. */
		{{0x100, 0x200, 0x300}, 0, 2, false, NULL, 2},
		{{0x100, 0x200, 0x300}, 0, 2, true, "extra-frame", 2},
		{{0}, 0, 2, false, "no-frames", 0},
		/* A reader may show callchain and dump one after the other, or the dump alone. */
		{{0x100, 0x200, 0x100, 0x200}, 2, 2, true, NULL, 2},
		{{0x100, 0x200}, 2, 2, true, "no-frames", 0},
		{{0x100, 0x200, 0x300}, 4, 3, true, NULL, 3},
		{{0x100, 0x200, 0x300}, 4, 4, true, "cut", 3},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct jp_shown_fault fault =
			compare(table[i].shown, table[i].nr_user, table[i].nr_dump, table[i].ends);

		check(!fault.cause == !table[i].cause &&
			      (!fault.cause || !strcmp(fault.cause, table[i].cause)) &&
			      fault.frame == table[i].at,
		      "row %zu: %s at %u", i, fault.cause ?: "equal", fault.frame);
	}
}

TEST(relative_addresses)
{
	static const struct jp_mapping mapping = {.start = 0x7000, .end = 0x8000, .pgoff = 0x80};
	const struct jp_shown_frame frame = {.addr = 0xa0, .placed = true};

	check(jp_shown_frame_has_address(&frame, 0x7020, false, &mapping),
	      "an address is relative to its file");
	check(!jp_shown_frame_has_address(&frame, 0x7021, false, &mapping),
	      "the sampled address is exact");
	check(jp_shown_frame_has_address(&frame, 0x7021, true, &mapping),
	      "a caller may be shown one before");
	check(!jp_shown_frame_has_address(&frame, 0x7020, false, NULL),
	      "without a mapping nothing is relative");
}

/* The second address of a callchain is the first of a mapping. */
TEST(relative_caller)
{
	static const uint64_t relative[MOST] = {0x100, 0x40};
	const struct jp_event mmap = MADE_EVENT(
		MAP, 7, 1, .map = {.addr = 0x200, .len = 0x100, .pgoff = 0x40, .name = "//anon"});
	struct jp_replay *none = spaces;

	spaces = jp_replay_new();
	if (!spaces || jp_replay_apply(spaces, &mmap))
		exit(99);
	check(!compare(relative, 2, 0, false).cause, "a caller may begin a mapping");
	jp_replay_free(spaces);
	spaces = none;
	check(compare(relative, 2, 0, false).cause, "without the mapping it is another address");
}

/* Threads that start after the exit of their process's main thread are late; those of a later
 * process of the same number are not. Number 0 stands for many processes, whose first exit counts.
 */
TEST(late_threads)
{
	const struct jp_event exit = MADE_EVENT(EXIT, 7, 1),
			      thread_exit = {.type = JP_EVENT_EXIT, .pid = 7, .tid = 8},
			      strangers_exit = MADE_EVENT(EXIT, 0, 1),
			      process = MADE_EVENT(FORK, 7, 2, .task = {.ppid = 5}),
			      stranger = MADE_EVENT(FORK, 0, 2);
	struct jp_event thread = {.type = JP_EVENT_FORK, .pid = 7, .task = {.ppid = 7}};
	struct jp_truth truth = {.e_machine = EM_X86_64};
	struct jp_evidence evidence = {.truth = &truth};
	const struct jp_view view = {.evidence = &evidence};
	const struct jp_code_loads loads = {0};
	struct jp_holder holder = {.view = &view, .loads = &loads};
	const struct {
		const struct jp_event *event;
		uint32_t tid;
		bool late;
	} steps[] = {{&thread_exit, 10, false},
		     {&exit, 11, true},
		     {&process, 12, false},
		     {&strangers_exit, 0, true},
		     {&stranger, 0, true}};

	check(!jp_holder_init(&holder), "memory");
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		thread.tid = steps[i].tid;
		check(!jp_holder_apply_event(&holder, steps[i].event) &&
			      (!thread.tid || !jp_holder_apply_event(&holder, &thread)) &&
			      jp_holder_is_late(&holder, steps[i].tid) == steps[i].late,
		      "after step %zu thread %u is %slate", i, steps[i].tid,
		      steps[i].late ? "" : "not ");
	}
	jp_holder_free(&holder);
}

/* libunwind cannot read the last word of a dump: only the outermost frame may be missing or be
 * UINT64_MAX. */
TEST(last_word)
{
	static const struct jp_shown_frame beyond = {.addr = UINT64_MAX}, other = {.addr = 0x300};
	static const struct {
		const char *reader, *cause;
		const struct jp_shown_frame *frame;
		uint32_t at;
		const char *id;
	} rows[] = {
		{"perf 6.1.192", "extra-frame", &beyond, 4, "perf.unwind-beyond"},
		{"perf 6.1.192", "other-frame", &beyond, 3, "perf.unwind-beyond"},
		{"perf 6.1.192", "other-frame", &beyond, 2, "other-frame"},
		{"perf 6.1.192", "other-frame", &other, 3, "other-frame"},
		{"perf 6.12.118", "cut", NULL, 3, "perf.unwind-beyond"},
		{"perf 6.12.118", "cut", NULL, 2, "cut"},
		{"perf 7.3.4", "cut", NULL, 3, "cut"},
	};
	const struct jp_held held = {.event = &event, .reaches_root = true};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct jp_shown_fault fault = {.cause = rows[i].cause,
						     .is_unwound = true,
						     .frame = rows[i].at,
						     .nr_recorded = 4};
		const struct jp_shown_difference difference = {.reader = rows[i].reader,
							       .cause = rows[i].cause,
							       .held = &held,
							       .fault = &fault,
							       .frame = rows[i].frame,
							       .mapping = "/lib/libc.so.6"};
		const char *id = jp_shown_find_known_defect(&difference);

		check(!strcmp(id, rows[i].id), "%s, %s at frame %u of 4: %s", rows[i].reader,
		      rows[i].cause, rows[i].at, id);
	}
}

TEST(known_defects)
{
	static const struct {
		const char *reader, *cause, *where, *id;
		bool chained; /* the frame is of a callchain */
		bool reused;  /* older code was in the frame's mapping */
		uint32_t nr_mapped;
		const char *previous; /* the mapping of the frame before */
		uint32_t first_difference;
		bool late; /* the thread started after the exit of the main thread */
		bool no_chain;
	} table[] = {
		{"perf 7.2.13", "no-frames", "/run/jitted-7-1.so", .id = "perf.inject-outside-tmp"},
		{"perf 7.3.4", "cut", "/tmp/a/jitted-7-1.so", .id = "perf.inject-outside-tmp"},
		{"perf 7.4.1", "cut", "/run/jitted-7-1.so", .id = "cut"},
		{"perf 6.12.9", "cut", "/run/jitted-7-1.so", .id = "cut"},
		{"other 7.3.4", "cut", "/run/jitted-7-1.so", .id = "cut"},
		{"perf 7.3.4", "cut", "/tmp/jitted-7-1.so", .id = "cut"},
		{"perf 7.3.4", "cut", "/run/jit-7-1.so", .id = "cut"},
		{"perf 7.3.4", "cut", "/run/jitted-7-1.so", .id = "cut", .chained = true},
		{"perf 7.3.4", "missing-frame", "/run/jitted-7-1.so", .id = "missing-frame"},
		{"perf 7.3.4", "no-frames", "//anon", .id = "perf.unwind-no-elf"},
		{"perf 7.2.13", "no-frames", "[vdso]", .id = "perf.inject-vdso"},
		{"perf 7.3.4", "cut", "/tmp/perf-vdso.so-g8x2Ez", .id = "perf.inject-vdso"},
		{"perf 6.12.118", "cut", "[vdso]", .id = "cut"},
		{"perf 6.1.192", "no-frames", "//anon", .id = "no-frames"},
		{"perf 7.3.4", "no-frames", "/lib/libc.so.6", .id = "no-frames"},
		/* perf 7.3 keeps the file that was mapped before, and follows its tables. */
		{"perf 7.3.4", "cut", "/run/jit-7-1.so", .id = "perf.unwind-reused",
		 .reused = true},
		{"perf 7.3.4", "other-frame", "/lib/a", .id = "perf.unwind-reused", .reused = true,
		 .previous = "/lib/b"},
		{"perf 6.12.9", "cut", "/run/jit-7-1.so", .id = "cut", .reused = true},
		/* perf 6.12 reads no table without a mapping; perf 7.3 reads it from the file. */
		{"perf 6.12.9", "missing-frame", "/run/a", .id = "perf.unwind-maps",
		 .nr_mapped = 1},
		{"perf 6.12.9", "missing-frame", "/run/a", .id = "missing-frame", .nr_mapped = 2},
		{"perf 7.3.4", "missing-frame", "/run/a", .id = "missing-frame", .nr_mapped = 1},
		{"perf 6.12.9", "cut", "/run/a", .id = "cut", .chained = true, .nr_mapped = 1},
		/* perf 7.3 leaves the tables after the first frame in such a file. */
		{"perf 7.3.4", "missing-frame", "/lib/a", .id = "perf.inject-outside-tmp",
		 .previous = "/run/jitted-7-1.so"},
		{"perf 7.3.4", "missing-frame", "/lib/a", .id = "missing-frame",
		 .previous = "/tmp/jitted-7-1.so"},
		{"perf 7.3.4", "missing-frame", "/lib/a", .id = "missing-frame",
		 .previous = "/run/jitted-7-1.so", .first_difference = 2},
		/* perf 6.12 script forgets the mappings with the main thread. */
		{"perf 6.12.9", "fewer-listed", NULL, .id = "perf.script-thread-gone",
		 .chained = true, .late = true},
		{"perf 6.1.192", "fewer-listed", NULL, .id = "fewer-listed", .chained = true,
		 .late = true},
		{"perf 6.1.192", "cut", "//anon", .id = "perf.unwind-no-chain", .no_chain = true},
	};
	const struct jp_event without_chain = {.pid = 7};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct jp_held held = {.event = table[i].no_chain ? &without_chain : &event,
					     .nr_mapped = table[i].nr_mapped};
		const struct jp_shown_fault fault = {.cause = table[i].cause,
						     .is_unwound = !table[i].chained,
						     .frame = table[i].first_difference ?: 1};
		const struct jp_shown_difference difference = {.reader = table[i].reader,
							       .cause = table[i].cause,
							       .held = &held,
							       .fault = &fault,
							       .mapping = table[i].where,
							       .previous_mapping =
								       table[i].previous,
							       .is_late = table[i].late,
							       .reused = table[i].reused};
		const char *id = jp_shown_find_known_defect(&difference);

		check(!strcmp(id, table[i].id), "row %zu: %s, %s of %s: %s", i, table[i].reader,
		      table[i].cause, table[i].where ?: "none", id);
	}
	check(!strcmp(jp_shown_find_known_defect(&(struct jp_shown_difference){
			      .reader = "perf 7.3.4", .cause = "more-listed", .overlaps = true}),
		      "perf.report-overlap"),
	      "perf 7.3 report counts overlapping names otherwise than script");
}

TEST(unread_files)
{
	static const struct {
		const char *reader, *failed, *id;
	} table[] = {
		{"perf 6.12.118", "0x1084 [0x10]: failed to process type: 80",
		 "perf.pipe-last-feature"},
		{"perf 5.10.262", "0x1084 [0x10]: failed to process type: 80", "unreadable"},
		{"perf 5.10.262", "0x1084 [0x8]: failed to process type: 82",
		 "perf.pipe-finished-init"},
		{"perf 7.2.13", "Invalid HEADER_CPU_DOMAIN_INFO: section too small (0) for 2 CPUs",
		 "perf.pipe-last-feature"},
		{"perf 7.2.13",
		 "ERROR: at offset 0x258: BUILD_ID (67) event size 100 is not 8-byte aligned",
		 "perf.build-id-size"},
		{"perf 6.12.118", "0xb9c [0x1f10]: failed to process type: 83",
		 "perf.compressed-type"},
		{"perf 7.3.4", "0xb9c [0x1f10]: failed to process type: 83", "unreadable"},
		{"perf 7.3.4", "Couldn't decompress data", "perf.compressed-block"},
		{"perf 6.1.192", "SIGABRT: assertion failed at util/build-id.c:1010",
		 "kernel.build-id"},
		{"perf 7.2.13", "SIGABRT: assertion failed at util/build-id.c:1010", "unreadable"},
		{"perf 7.2.13",
		 "ERROR: at offset 0x258: MMAP2 (10) event size 100 is not 8-byte aligned",
		 "unreadable"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct jp_shown_difference difference = {.reader = table[i].reader,
							       .cause = "unreadable",
							       .failure = table[i].failed};
		const char *id = jp_shown_find_known_defect(&difference);

		check(!strcmp(id, table[i].id), "%s: %s: %s", table[i].reader, table[i].failed, id);
	}
}

/* A value in a callchain that looks like a marker: a reader drops all frames, or, if it knows the
 * marker, that value alone. */
TEST(markers)
{
	static const struct {
		uint64_t value;
		uint32_t shown, at;
		const char *id;
		bool has_dump;
	} table[] = {
		{UINT64_MAX, 0, 0, "perf.marker", false},
		{UINT64_MAX, 1, 1, "cut", false},
		{UINT64_MAX, 1, 1, "perf.marker", true},
		{0x200, 1, 1, "cut", true},
		{JP_CONTEXT_HV, 1, 1, "perf.marker", false},
		{JP_CONTEXT_KERNEL, 1, 1, "perf.marker", false},
		{JP_CONTEXT_USER, 1, 1, "perf.marker", false},
		{JP_CONTEXT_HV, 1, 2, "cut", false},
		{0x200, 0, 0, "cut", false},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const uint64_t user[] = {0x100, table[i].value, 0x300};
		const struct jp_held held = {.event = &event,
					     .user_chain = user,
					     .nr_user = 3,
					     .garbage = table[i].value >= JP_CONTEXT_MAX,
					     .has_dump = table[i].has_dump};
		const struct jp_shown_fault fault = {
			.cause = "cut", .frame = table[i].at, .nr_shown = table[i].shown};
		const struct jp_shown_difference difference = {.reader = "perf 7.3.4",
							       .cause = "cut",
							       .held = &held,
							       .fault = &fault,
							       .mapping = ""};
		const char *id = jp_shown_find_known_defect(&difference);

		check(!strcmp(id, table[i].id), "%" PRIx64 ", %u frames shown: %s", table[i].value,
		      table[i].shown, id);
	}
	jp_replay_free(spaces);
}
