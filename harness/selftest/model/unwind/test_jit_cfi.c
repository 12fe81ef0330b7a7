// SPDX-License-Identifier: GPL-2.0-only
/* Tests finding the jitdump function at an address at a time: the last load covers earlier ones. */
#include "harness/model/unwind/jit_cfi.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_events.h"

enum { PARENT = 10, CHILD = 20, GRANDCHILD = 25, X86_64 = 62 };

static const unsigned char garbage[] = {0xff, 0xff, 0xff, 0x7f, 1, 2, 3, 4};

/* Loads, sorted by pid, addr, time. */
static struct jp_code_load list[] = {
	{.pid = PARENT, .addr = 0x1000, .size = 0x100, .time = 10, .name = "wide"},
	{.pid = PARENT, .addr = 0x1000, .size = 0x10, .time = 50, .name = "short"},
	{.pid = PARENT, .addr = 0x1040, .size = 0x20, .time = 5, .name = "early"},
	{.pid = PARENT, .addr = 0x1080, .size = 0x20, .time = 20, .name = "late"},
	{.pid = PARENT, .addr = 0x10c0, .size = 0x20, .time = 10, .name = "at once"},
	{.pid = CHILD,
	 .addr = 0x2000,
	 .size = 0x10,
	 .time = 40,
	 .name = "child's",
	 .eh_frame = garbage,
	 .eh_frame_size = sizeof(garbage)},
};
static const struct jp_code_loads loads = {.loads = list, .count = sizeof(list) / sizeof(*list)};

static void check_load(const struct jp_jit_cfi *jit, uint32_t pid, uint64_t addr, uint64_t time,
		       const char *name)
{
	const struct jp_code_load *load = jp_jit_cfi_at(jit, pid, addr, time);
	const char *found_name = load ? load->name : "nothing";

	check(__builtin_strcmp(found_name, name) == 0, "pid %u at %d, time %d: finds %s", pid,
	      (int)addr, (int)time, found_name);
}

static void test_places_and_times(const struct jp_jit_cfi *jit)
{
	check_load(jit, PARENT, 0x1000, 9, "nothing");
	check_load(jit, PARENT, 0x1000, 10, "wide");
	check_load(jit, PARENT, 0xfff, 30, "nothing");
	check_load(jit, PARENT, 0x10ff, 30, "wide");
	check_load(jit, PARENT, 0x1100, 30, "nothing");
	check_load(jit, PARENT, 0x1048, 7, "early");
	check_load(jit, PARENT, 0x1048, 30, "wide");
	check_load(jit, PARENT, 0x1088, 19, "wide");
	check_load(jit, PARENT, 0x1088, 20, "late");
	check_load(jit, PARENT, 0x10a0, 30, "wide");
	/* Of two loads at one time, the closer start counts. */
	check_load(jit, PARENT, 0x10c8, 30, "at once");
	/* A shorter function ends the longer one that it covers. */
	check_load(jit, PARENT, 0x1008, 50, "short");
	check_load(jit, PARENT, 0x1018, 50, "nothing");
	check_load(jit, 30, 0x1048, 30, "nothing");
}

static void test_descent(struct jp_jit_cfi *jit)
{
	const struct jp_event born = MADE_EVENT(FORK, CHILD, 15, .task = {.ppid = PARENT});
	const struct jp_event repeated = MADE_EVENT(FORK, GRANDCHILD, 50, .task = {.ppid = CHILD});
	const struct jp_event exec =
		MADE_EVENT(COMM, CHILD, 60, .comm = {.exec = true, .name = "other"});

	check_load(jit, CHILD, 0x1008, 30, "nothing");
	check(jp_jit_cfi_apply(jit, &born) == 0, "a child is forked");
	check_load(jit, CHILD, 0x1008, 30, "wide");
	/* Later loads of the parent are not inherited. */
	check_load(jit, CHILD, 0x1088, 30, "wide");
	check_load(jit, CHILD, 0x2008, 45, "child's");
	check(jp_jit_cfi_apply(jit, &repeated) == 0, "a grandchild is forked");
	check_load(jit, GRANDCHILD, 0x1008, 55, "wide");
	check(jp_jit_cfi_apply(jit, &exec) == 0, "the child execs");
	check_load(jit, CHILD, 0x1008, 70, "nothing");
}

TEST(jit_cfi)
{
	struct jp_jit_cfi *jit = jp_jit_cfi_new(&loads, X86_64);

	if (check(jit, "loads of two processes are read")) {
		test_places_and_times(jit);
		check(!jp_jit_cfi_has_tables(jit, &list[5]) && jp_jit_cfi_count_bad(jit) == 1,
		      "one function with bad tables is counted");
		test_descent(jit);
	}
	jp_jit_cfi_free(jit);
	jp_jit_cfi_free(NULL);
}
