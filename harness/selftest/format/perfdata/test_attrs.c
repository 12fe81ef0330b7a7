// SPDX-License-Identifier: GPL-2.0-only
/* Tests the attrs of a perf.data: what they request, and which attr a record belongs to. */
#include <elf.h>

#include "harness/format/perfdata/attrs.h"
#include "harness/selftest/support/growth.h"

enum {
	FULL = JP_PERF_SAMPLE_IDENTIFIER | JP_PERF_SAMPLE_IP,
	WIDER = FULL | JP_PERF_SAMPLE_CALLCHAIN,
};

static struct jp_perf_attrs attrs;

static const char *add_attr(const struct jp_perf_attr *attr, uint64_t id)
{
	return jp_perf_attrs_add(&attrs, attr, JP_PERF_ATTR_SIZE_WRITTEN, &id, id ? 1 : 0);
}

static int64_t find_attr(enum jp_perf_record_type type, uint64_t id)
{
	/* A sample has its id first, other records last. */
	const struct {
		struct jp_perf_record head;
		uint64_t words[3];
	} record = {{type, 0, sizeof(record)}, {id, 0, id}};

	return jp_perf_attrs_find(&attrs, &record.head);
}

TEST(clocks)
{
	enum { SOFTWARE = JP_PERF_TYPE_SOFTWARE, BREAKPOINT = JP_PERF_TYPE_BREAKPOINT };
	enum { PERIOD = JP_PERF_SAMPLE_PERIOD, FREQ = JP_PERF_ATTR_FREQ };
	static const struct {
		const char *label;
		uint32_t type;
		uint64_t config, sample_type, flags, requested;
		enum jp_clock clock;
		uint64_t period;
	} table[] = {
		{"cpu-clock, by frequency", SOFTWARE, 0, PERIOD, FREQ, 1000, JP_CLOCK_CPU, 1000000},
		{"task-clock, by frequency", SOFTWARE, JP_PERF_SW_TASK_CLOCK, PERIOD, FREQ, 4000,
		 JP_CLOCK_TASK, 250000},
		{"cpu-clock, by period", SOFTWARE, 0, PERIOD, 0, 777, JP_CLOCK_CPU, 777},
		{"without a period in its samples", SOFTWARE, 0, 0, 0, 777, JP_CLOCK_CPU, 0},
		{"without a period", SOFTWARE, 0, PERIOD, 0, 0, JP_CLOCK_CPU, 0},
		{"a dummy", SOFTWARE, JP_PERF_SW_DUMMY, 0, 0, 0, JP_CLOCK_NONE, 0},
		{"cycles, whose period follows the load", 0, 0, PERIOD, FREQ, 1000, JP_CLOCK_NONE,
		 0},
		{"a breakpoint of no address", BREAKPOINT, 0, 0, 0, 0, JP_CLOCK_BREAKPOINT, 0},
		{"a breakpoint", BREAKPOINT, 1, 0, 0, 0, JP_CLOCK_NONE, 0},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct jp_perf_attr attr = {.type = table[i].type,
						  .config = table[i].config,
						  .sample_type = table[i].sample_type,
						  .flags = table[i].flags,
						  .sample_period = table[i].requested};
		const struct jp_event_asked *request;

		check(!add_attr(&attr, 0), "%s: the attr is added", table[i].label);
		request = &attrs.list[attrs.count - 1].request;
		check(request->clock == table[i].clock && request->period == table[i].period,
		      "%s: clock %d, period %d", table[i].label, request->clock,
		      (int)request->period);
	}
	jp_perf_attrs_free(&attrs);
}

TEST(own_attrs)
{
	enum { CHAIN = JP_PERF_ATTR_EXCLUDE_CALLCHAIN_KERNEL };
	const uint64_t user = JP_PERF_ATTR_EXCLUDE_KERNEL | JP_PERF_ATTR_EXCLUDE_HV;
	static const struct {
		bool user, has_own_time;
		uint64_t flags;
		uint16_t max_stack;
	} table[] = {{false, true, 0, 0}, {false, false, CHAIN, 0}, {true, true, CHAIN, 0},
		     {true, false, 0, 0}, {true, true, CHAIN, 127}, {true, false, CHAIN, 126}};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct jp_perf_attr attr = {
			.type = JP_PERF_TYPE_SOFTWARE,
			.size = sizeof(attr),
			.sample_type = JP_PERF_SAMPLE_IDENTIFIER | JP_PERF_SAMPLE_IP |
				       JP_PERF_SAMPLE_TID | JP_PERF_SAMPLE_TIME |
				       JP_PERF_SAMPLE_CPU | JP_PERF_SAMPLE_PERIOD |
				       JP_PERF_SAMPLE_REGS_USER | JP_PERF_SAMPLE_CALLCHAIN,
			.read_format = JP_PERF_FORMAT_ID,
			.flags = table[i].flags | (table[i].user ? user : 0) |
				 JP_PERF_ATTR_DISABLED | JP_PERF_ATTR_SAMPLE_ID_ALL |
				 JP_PERF_ATTR_USE_CLOCKID | JP_PERF_ATTR_FREQ |
				 JP_PERF_ATTR_INHERIT,
			.sample_max_stack = table[i].max_stack,
			.clockid = JP_PERF_CLOCK_MONOTONIC};

		check(jp_perf_is_own_attr(&attr) == table[i].has_own_time,
		      "samples of %s, callchains %s the kernel, max_stack %u: %s",
		      table[i].user ? "users" : "all", table[i].flags ? "without" : "with",
		      table[i].max_stack, table[i].has_own_time ? "our own" : "foreign");
	}
}

static bool makes_records(const struct jp_perf_attr *attr, enum jp_perf_record_type type)
{
	bool has_records;

	add_attr(attr, 0);
	has_records = attrs.list[0].request.records >> type & 1;
	jp_perf_attrs_free(&attrs);
	return has_records;
}

TEST(records)
{
	static const struct {
		uint64_t flags;
		enum jp_perf_record_type type;
	} table[] = {
		{JP_PERF_ATTR_MMAP_DATA, JP_PERF_RECORD_MMAP},
		{JP_PERF_ATTR_MMAP2, JP_PERF_RECORD_MMAP2},
		{JP_PERF_ATTR_COMM, JP_PERF_RECORD_COMM},
		{JP_PERF_ATTR_COMM, JP_PERF_RECORD_FORK},
		{JP_PERF_ATTR_TASK, JP_PERF_RECORD_EXIT},
		{JP_PERF_ATTR_INHERIT_STAT, JP_PERF_RECORD_READ},
		{JP_PERF_ATTR_CONTEXT_SWITCH, JP_PERF_RECORD_SWITCH_CPU_WIDE},
		{JP_PERF_ATTR_NAMESPACES, JP_PERF_RECORD_NAMESPACES},
		{JP_PERF_ATTR_DEFER_OUTPUT, JP_PERF_RECORD_CALLCHAIN_DEFERRED},
	};
	static const enum jp_perf_record_type always[] = {
		JP_PERF_RECORD_SAMPLE, JP_PERF_RECORD_LOST, JP_PERF_RECORD_LOST_SAMPLES,
		JP_PERF_RECORD_THROTTLE, JP_PERF_RECORD_UNTHROTTLE};
	const struct jp_perf_attr no_flags = {0}, pmu = {.type = JP_PERF_TYPES};

	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		check(makes_records(&no_flags, always[i]), "records of type %d come with any flags",
		      always[i]);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		check(makes_records(&(struct jp_perf_attr){.flags = table[i].flags},
				    table[i].type) &&
			      !makes_records(&no_flags, table[i].type),
		      "records of type %d come with flags %#llx alone", table[i].type,
		      (unsigned long long)table[i].flags);
	check(!makes_records(
		      &(struct jp_perf_attr){.flags = JP_PERF_ATTR_MMAP | JP_PERF_ATTR_MMAP2},
		      JP_PERF_RECORD_MMAP),
	      "with mmap2, MMAP records do not come");
	check(makes_records(&pmu, JP_PERF_RECORD_AUX) &&
		      !makes_records(&no_flags, JP_PERF_RECORD_AUX),
	      "AUX records come from dynamic PMUs alone");
}

TEST(ids)
{
	const struct jp_perf_attr first = {.sample_type = FULL,
					   .flags = JP_PERF_ATTR_SAMPLE_ID_ALL};
	struct jp_perf_attr second = first;

	check(find_attr(JP_PERF_RECORD_SAMPLE, 1) == -1, "without attrs a sample has none");
	add_attr(&first, 1);
	add_attr(&first, 2);
	check(find_attr(JP_PERF_RECORD_SAMPLE, 2) == 1 && find_attr(JP_PERF_RECORD_COMM, 2) == 1 &&
		      find_attr(JP_PERF_RECORD_COMM, 1) == 0,
	      "records are assigned by id");
	check(find_attr(JP_PERF_RECORD_COMM, 0) == 0, "records with id 0 belong to the first attr");
	check(find_attr(JP_PERF_RECORD_SAMPLE, 3) == 0 && attrs.unknown_ids == 1,
	      "an unknown id is counted and read like all, if all are alike");
	second.sample_type = WIDER;
	add_attr(&second, 4);
	check(find_attr(JP_PERF_RECORD_SAMPLE, 4) == 2 &&
		      find_attr(JP_PERF_RECORD_SAMPLE, 3) == -1 && attrs.unknown_ids == 1,
	      "an unknown id belongs to no attr if they differ");
	jp_perf_attrs_free(&attrs);
	second.sample_type = JP_PERF_SAMPLE_IP;
	add_attr(&second, 0);
	check(find_attr(JP_PERF_RECORD_SAMPLE, 0) == 0, "without ids the only attr is meant");
	second.sample_type |= JP_PERF_SAMPLE_TID;
	add_attr(&second, 0);
	check(find_attr(JP_PERF_RECORD_SAMPLE, 0) == -1 && find_attr(JP_PERF_RECORD_COMM, 0) == 0,
	      "without ids samples belong to none of two attrs, other records do");
	jp_perf_attrs_free(&attrs);
}

/* Tests a file without ids, whose writer died. */
TEST(missing_ids)
{
	const struct jp_perf_attr sampling = {.sample_type = FULL,
					      .flags = JP_PERF_ATTR_SAMPLE_ID_ALL};
	struct jp_perf_attr dummy = {.type = JP_PERF_TYPE_SOFTWARE,
				     .config = JP_PERF_SW_DUMMY,
				     .sample_type = WIDER,
				     .flags = JP_PERF_ATTR_SAMPLE_ID_ALL};

	add_attr(&dummy, 0);
	add_attr(&sampling, 0);
	check(find_attr(JP_PERF_RECORD_SAMPLE, 7) == 1 && find_attr(JP_PERF_RECORD_COMM, 7) == 0,
	      "samples belong to the only attr that is no dummy");
	add_attr(&sampling, 0);
	check(find_attr(JP_PERF_RECORD_SAMPLE, 7) == -1, "two such attrs have no samples");
	jp_perf_attrs_free(&attrs);
	for (int i = 0; i < 2; i++) {
		add_attr(&dummy, 0);
		add_attr(&(struct jp_perf_attr){.sample_type = i ? FULL : FULL | JP_PERF_SAMPLE_CPU,
						.flags = i ? 0 : JP_PERF_ATTR_SAMPLE_ID_ALL},
			 0);
		check(find_attr(JP_PERF_RECORD_SAMPLE, 7) == -1 &&
			      find_attr(JP_PERF_RECORD_COMM, 7) == -1,
		      "%s",
		      i ? "no attr if one lacks sample_id_all"
			: "no attr if records end differently");
		jp_perf_attrs_free(&attrs);
	}
	add_attr(&dummy, 5);
	attrs.ids_missing = true;
	add_attr(&sampling, 0);
	check(find_attr(JP_PERF_RECORD_SAMPLE, 7) == 1, "the same holds if some ids are missing");
	jp_perf_attrs_free(&attrs);
}

static void add_many(size_t count)
{
	start_cost();
	for (size_t i = 0; i < count; i++) {
		add_attr(&(struct jp_perf_attr){.sample_type = FULL}, 0);
		jp_perf_attrs_set_machine(&attrs, EM_NONE);
	}
	check(attrs.count == count, "%zu attrs are added", count);
	jp_perf_attrs_free(&attrs);
	end_cost();
}

TEST(machines)
{
	const struct jp_perf_attr attr = {.sample_type = FULL};

	add_attr(&attr, 0);
	check(!attrs.list[0].layout.machine, "the machine is unknown at first");
	jp_perf_attrs_set_machine(&attrs, EM_X86_64);
	add_attr(&attr, 0);
	jp_perf_attrs_set_machine(&attrs, EM_X86_64);
	for (size_t i = 0; i < 2; i++)
		check(attrs.list[i].layout.machine == jp_machine_find(EM_X86_64),
		      "attr %zu has the machine", i);
	jp_perf_attrs_set_machine(&attrs, EM_AARCH64);
	for (size_t i = 0; i < 2; i++)
		check(attrs.list[i].layout.machine == jp_machine_find(EM_AARCH64),
		      "attr %zu gets another machine", i);
	jp_perf_attrs_free(&attrs);
	check_growth("attrs", add_many);
}

TEST(refusals)
{
	const struct jp_perf_attr attr = {.sample_type = FULL};
	const char *expected = NULL;

	check(!strcmp(jp_perf_attrs_add(&attrs, &attr, 63, NULL, 0),
		      "an attr of at least 64 bytes"),
	      "an attr of 63 bytes is refused");
	for (int i = 0; i < 65535 && !expected; i++)
		expected = jp_perf_attrs_add(&attrs, &attr, 64, NULL, 0);
	check(!expected &&
		      !strcmp(jp_perf_attrs_add(&attrs, &attr, 64, NULL, 0), "at most 65535 attrs"),
	      "65536 attrs are refused");
	jp_perf_attrs_free(&attrs);
}
