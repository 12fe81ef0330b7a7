// SPDX-License-Identifier: GPL-2.0-only
/* Rules about times: a jitdump needs the clock of the perf.data, CLOCK_MONOTONIC in ns. */
#include <inttypes.h>

#include "harness/base/clock.h"
#include "harness/lint/findings.h"

#define DAY_S UINT64_C(86400)

/*
 * Returns the name of the clock that @time probably comes from, or NULL if it can be
 * CLOCK_MONOTONIC.
 * @spread: seconds by which @time may precede the file's last change. A wall clock's time in ns,
 * taken as an uptime, would exceed 40 years. In larger units, a time near the file's last change
 * comes from a wall clock, because an uptime rarely has such a value by chance.
 */
static const char *guess_clock(const struct jp_lint_file *file, uint64_t time, uint64_t spread)
{
	static const struct {
		uint64_t per_second;
		const char *name;
	} units[] = {
		{1000000000, "the wall clock in ns"},
		{1000000, "the wall clock in microseconds"},
		{1000, "the wall clock in ms"},
		{1, "the wall clock in seconds"},
	};
	uint64_t changed = (uint64_t)file->status.st_mtim.tv_sec;

	if (!time)
		return "a missing time";
	if (time / JP_NS_PER_S > UINT64_C(40) * 365 * DAY_S)
		return units[0].name;
	for (size_t i = 1; i < sizeof(units) / sizeof(*units); i++) {
		uint64_t seconds = time / units[i].per_second;

		if (seconds <= changed + DAY_S && seconds + spread >= changed)
			return units[i].name;
	}
	if (!file->change_time)
		return NULL;
	for (uint64_t factor = 1000; factor <= 1000000; factor *= 1000) {
		uint64_t scaled;

		if (!__builtin_mul_overflow(time, factor, &scaled) &&
		    scaled <= file->change_time + JP_NS_PER_S &&
		    scaled + 60 * JP_NS_PER_S >= file->change_time)
			return factor == 1000 ? "CLOCK_MONOTONIC in microseconds"
					      : "CLOCK_MONOTONIC in ms";
	}
	return NULL;
}

static bool has_counter_times(const struct jp_lint_dump *dump)
{
	return dump->header->flags & JP_JITDUMP_ARCH_TIMESTAMP;
}

static void check_clock(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	uint64_t count = 0;
	size_t first = 0;

	if (has_counter_times(dump))
		return;
	/* Report only the first such time, because all times of a file come from one clock. */
	for (size_t i = 0; i < dump->count; i++)
		if (guess_clock(&dump->file, dump->records[i].time, DAY_S) && !count++)
			first = i;
	if (count)
		jp_lint_found(findings, dump->records[first].offset,
			      "time %" PRIu64 " of this and of %" PRIu64
			      " other records looks like %s; expected CLOCK_MONOTONIC in ns",
			      dump->records[first].time, count - 1,
			      guess_clock(&dump->file, dump->records[first].time, DAY_S));
}

static void check_header_clock(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	uint64_t time = dump->header->timestamp;
	/* The header's time is that of its creation, possibly long before the last change. */
	const char *clock_name = guess_clock(&dump->file, time, 400 * DAY_S);

	if (has_counter_times(dump))
		return;
	if (clock_name)
		jp_lint_found(findings, 24,
			      "the header's time %" PRIu64
			      " looks like %s; expected CLOCK_MONOTONIC "
			      "in ns, as the records'",
			      time, clock_name);
	else if (dump->count && dump->records[0].time < time)
		jp_lint_found(findings, 24,
			      "the header's time is %" PRIu64 " ns later than the first record's; "
			      "expected an earlier time",
			      time - dump->records[0].time);
}

static void check_future(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	uint64_t change_time = dump->file.change_time, count = 0;
	size_t first = 0;

	/* A copied file may come from a machine with a longer uptime. */
	if (has_counter_times(dump) || !dump->file.process || !change_time)
		return;
	for (size_t i = 0; i < dump->count; i++)
		if (dump->records[i].time > change_time + JP_NS_PER_S && !count++)
			first = i;
	if (count)
		jp_lint_found(findings, dump->records[first].offset,
			      "this and %" PRIu64
			      " other records are later than the file's last change, this one by "
			      "%" PRIu64 " ns",
			      count - 1, dump->records[first].time - change_time);
}

static void check_time_order(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	for (size_t i = 1; i < dump->count; i++) {
		const struct jp_jitdump_record *record = &dump->records[i];

		if (record->time < record[-1].time)
			jp_lint_found(findings, record->offset,
				      "%" PRIu64 " ns earlier than the record before it",
				      record[-1].time - record->time);
	}
}

static void check_clock_unit(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	enum { FEW = 16 };
	uint64_t nr_equal = 0, unit = 0;

	if (dump->count < FEW)
		return;
	for (size_t i = 0; i < dump->count; i++) {
		nr_equal += i && dump->records[i].time == dump->records[i - 1].time;
		for (uint64_t a = dump->records[i].time, remainder; a; a = remainder) {
			remainder = unit % a;
			unit = a;
		}
	}
	if (unit >= 1000)
		jp_lint_found(findings, JP_LINT_WHOLE,
			      "all times are multiples of %" PRIu64 " ns, and %" PRIu64
			      " equal that of the record before",
			      unit, nr_equal);
}

static const struct jp_lint_rule rules[] = {
	{"dump.clock", JP_LINT_ERROR, "the records' times are not CLOCK_MONOTONIC in ns",
	 .dump = check_clock},
	{"dump.header-clock", JP_LINT_WARNING,
	 "the header's time has another clock than the records, or is later",
	 .dump = check_header_clock},
	{"dump.future", JP_LINT_ERROR, "records are later than the file's last change",
	 .dump = check_future},
	{"dump.time-order", JP_LINT_WARNING, "a record is earlier than the one before it",
	 .dump = check_time_order},
	{"dump.coarse-time", JP_LINT_NOTE, "times are rounded to a microsecond or more",
	 .dump = check_clock_unit},
};
JP_REGISTER_ROWS(lint_rule, rules);
