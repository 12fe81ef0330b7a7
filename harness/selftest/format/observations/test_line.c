// SPDX-License-Identifier: GPL-2.0-only
/* Tests parsing a line of observations: the result is its event, or an error that states what was
 * expected. */
#include "harness/format/observations/line.h"
#include "harness/selftest/support/check.h"

enum { NAMES = JP_LACKS_ADDRESSES, STACKS = JP_LACKS_TIME };

static struct jp_declared declared;
static struct jp_observation_line parser;
static char line[64 << 10];

static const char *parse(uint32_t missing_parts, const char *text)
{
	declared.lacking = missing_parts;
	declared.period = 17;
	parser.declared = &declared;
	jp_observation_begin(&parser);
	snprintf(line, sizeof(line), "%s", text);
	return jp_observation_parse(&parser, line);
}

TEST(refusals)
{
	static const struct {
		uint32_t missing_parts;
		const char *line, *expected;
	} table[] = {
		{0, "", "sample, map, fork, exec, exit, comm or lost"},
		{0, " sample", "sample, map, fork, exec, exit, comm or lost"},
		{0, "samples 5 1 2", "sample, map, fork, exec, exit, comm or lost"},
		{0, "sample", "a time in ns"},
		{0, "sample x 1 2", "a time in ns"},
		{STACKS, "sample x 1 2", "a count"},
		{STACKS, "sample 0 1 2", "a count of samples above 0"},
		{0, "sample 5", "the pid of a sample"},
		{0, "sample 5 2147483648 2", "the pid of a sample"},
		{0, "sample 5 1", "the tid of a sample"},
		{JP_LACKS_THREADS, "sample 5 1 2", "- as the tid"},
		{JP_LACKS_THREADS, "sample 5 1", "- as the tid"},
		{0, "sample 5 1 2 name", "an address in each frame"},
		{0, "sample 5 1 2 0xg", "a frame such as 0x7f12"},
		{0, "sample 5 1 2 0x12:name", "a frame such as 0x7f12"},
		{0, "sample 5 1 2 0x12=", "a name after ="},
		{0, "sample 5 1 2 0x12=a%4", "%XX, and not %00"},
		{0, "sample 5 1 2 0x12=a%4g", "%XX, and not %00"},
		{0, "sample 5 1 2 0x12=a%00", "%XX, and not %00"},
		{0, "sample 5 1 2 0x12  0x13", "one blank between frames"},
		{NAMES, "sample 5 1 2 0x12", "only names"},
		{JP_LACKS_NAMES, "sample 5 1 2 0x12=name", "only addresses"},
		{0, "map 5", "the pid of a mapping"},
		{0, "map 5 1 1000-x", "a line as of /proc/PID/maps (maps line 1"},
		{JP_LACKS_MAPPINGS, "map 5 1 1000-2000 r-xp 0 0:0 0", "no line map, because"},
		{0, "fork 5 1", "the pid and the tid of a thread"},
		{0, "fork 5 x 1", "the pid and the tid of a thread"},
		{0, "fork 5 1 2 3", "the pid and the tid of the thread that forked it"},
		{0, "fork 5 1 2 3 4 5", "nothing more"},
		{0, "exit 5 1 2 3", "nothing more"},
		{0, "comm 5 x", "a pid"},
		{0, "comm 5 1", "a tid"},
		{0, "comm 5 1 2 ", "a name, with %XX"},
		{0, "comm 5 1 2 a%", "a name, with %XX"},
		{0, "exec 5 1", "a name, with %XX"},
		{JP_LACKS_TASKS, "exit 5 1 2", "none of comm, exec, fork, exit"},
		{0, "lost 5", "samples or records, and how many"},
		{0, "lost 5 bytes 7", "samples or records, and how many"},
		{0, "lost 5 records", "samples or records, and how many"},
		{0, "lost 5 samples 7 8", "samples or records, and how many"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const char *expected = parse(table[i].missing_parts, table[i].line);

		check(expected && !strncmp(expected, table[i].expected, strlen(table[i].expected)),
		      "\"%s\" is refused, expected: %s", table[i].line, expected ?: "accepted");
	}
}

TEST(samples)
{
	const struct jp_event *event = &parser.event;

	check(!parse(0, "sample 5 1 2 0x10=f%25%41 0x20=? 0x30") && event->time == 5 &&
		      event->pid == 1 && event->tid == 2 && event->sample.user &&
		      event->sample.ip == 0x10 && event->sample.nr_chain == 4 &&
		      event->sample.chain[3] == 0x30 && event->sample.period == 17 &&
		      parser.observed.nr_names == 3 && !strcmp(parser.names[0], "f%A") &&
		      !parser.names[1] && !parser.names[2] && parser.observed.weight == 1,
	      "addresses and names of a sample are read");
	check(!parse(0, "sample 5 1 2") && !event->sample.user && !event->sample.ip &&
		      event->sample.nr_chain == 1 && event->misc == JP_CPU_UNKNOWN,
	      "a sample without frames is read");
	check(!parse(STACKS | NAMES | JP_LACKS_THREADS, "sample 9 1 - main f") && !event->time &&
		      !event->tid && !event->sample.chain && !event->sample.user &&
		      parser.observed.weight == 9 && !strcmp(parser.names[1], "f"),
	      "a sample of names and a count is read");
}

TEST(other_events)
{
	const struct jp_event *event = &parser.event;

	check(!parse(0, "map 5 1 1000-3000 r-xs 200 08:1f 12 /a b") &&
		      event->type == JP_EVENT_MAP && event->map.len == 0x2000 &&
		      event->map.pgoff == 0x200 && event->map.has_identity && event->map.maj == 8 &&
		      event->map.min == 0x1f && !strcmp(event->map.name, "/a b"),
	      "a file's mapping is read");
	check(!parse(0, "map 5 1 1000-3000 rwxp 0 0:0 0") && event->map.pgoff == 0x1000 &&
		      !event->map.has_identity && !strcmp(event->map.name, "//anon"),
	      "an anonymous mapping is read");
	check(!parse(0, "fork 5 1 2 3 4") && event->type == JP_EVENT_FORK && event->tid == 2 &&
		      event->task.ppid == 3 && event->task.ptid == 4,
	      "a fork is read");
	check(!parse(0, "exit 5 1 2") && event->type == JP_EVENT_EXIT && event->task.ppid == 1,
	      "an exit is read");
	check(!parse(0, "exec 5 1 a name") && event->comm.exec && event->tid == 1 &&
		      !strcmp(event->comm.name, "a name"),
	      "an exec is read");
	check(!parse(0, "comm 5 1 2 a%0ab") && !event->comm.exec && event->tid == 2 &&
		      !strcmp(event->comm.name, "a\nb"),
	      "a name is read");
	check(!parse(0, "lost 5 records 7") && event->type == JP_EVENT_LOST &&
		      event->lost.lost == 7 && !parse(0, "lost 5 samples 8") &&
		      event->type == JP_EVENT_LOST_SAMPLES && event->lost.lost == 8,
	      "lost records and samples are read");
}

TEST(limits)
{
	char text[32 << 10] = "sample 5 1 2";
	size_t size = strlen(text);

	for (int i = 0; i < JP_OBSERVATION_FRAMES; i++, size += 4)
		memcpy(text + size, " 0x1", 5);
	check(!parse(0, text) && parser.observed.nr_names == JP_OBSERVATION_FRAMES,
	      "4096 are read");
	memcpy(text + size, " 0x1", 5);
	check(!strcmp(parse(0, text) ?: "", "at most 4096 frames"), "4097 frames are refused");
	jp_observation_end(&parser);
}
