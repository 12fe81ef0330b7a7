// SPDX-License-Identifier: GPL-2.0-only
/* Tests parsing the small files of a run directory: intervals, capture, maps. */
#include "harness/format/procmaps/procmaps.h"
#include "harness/format/rundir/capture_info.h"
#include "harness/format/rundir/intervals.h"
#include "harness/format/truth/format.h"
#include "harness/selftest/support/scratch.h"

static bool parse_intervals(const char *text, struct jp_intervals *intervals)
{
	char copy[512];
	struct jp_error err = {""};

	snprintf(copy, sizeof(copy), "%s", text);
	return !jp_intervals_parse(intervals, "intervals", copy, &err) || !*err.text;
}

TEST(bad_intervals)
{
	static const char *const bad_texts[] = {
		"",
		"gate none\ngate none",
		"gate other",
		"gates none",
		"interval 1 2 3 4 5",
		"gate none\nprocess 1 2 3",
		"gate none\nprocess 1 2 3 ",
		"gate none\nprocess 1 2  x",
		"gate none\nprocess 0 2 3 x",
		"gate none\nprocess 2147483648 2 3 x",
		"gate none\nprocess 1 4 3 x",
		"gate none\nprocess 1 2 4 x\nprocess 2 3 5 x",
		"gate none\nprocess 1 2 4 x\nprocess 1 2 4 x",
		"gate none\nprocess 1 2 3 "
		"0123456789012345678901234567890123456789012345678901234567"
		"890123",
		"process 1 2 3 x",
		"gate none\ninterval 1 2 3 4 5",
		"gate none\nprocess 1 2 3 x\ninterval 2 3 4 5 6",
		"gate none\nprocess 1 2 3 x\ninterval 1 2 4 5 6",
		"gate none\nprocess 1 2 3 x\ninterval 1 3 4 5",
		"gate none\nprocess 1 2 3 x\nevent",
		"gate none\nprocess 1 2 3 a\\08b",
		"gate none\nprocess 1 2 3 a\\04",
		"gate none\nprocess 1 2 3 a\\400",
		"gate none\nprocess 1 2 3 a\\000",
		"gate none\nprocess 1 2 3 a\\/40",
		"gate none\nprocess 1 2 3 x\ninterval 1 3 4 5 6 7",
		"gate none\nprocess 1 2 3 x\ninterval 1 3 4 5 6 ",
		"gate none\nprocess 1 2 3 x\ninterval 1 3 4 5 99999999999999999999",
		"gate none\nprocess 1 2 3 x\ninterval 1 4 3 5 6",
		"gate none\nprocess 1 2 3 x\ninterval 1 3 5 4 6",
		"gate none\nprocess 1 2 3 x\ninterval 1 3 4 6 5",
		"gate none\nprocess 1 2 3 x\ninterval 1 3 4 5 6\ninterval 1 5 7 8 9",
	};
	struct jp_intervals intervals;

	for (size_t i = 0; i < sizeof(bad_texts) / sizeof(*bad_texts); i++)
		check(!parse_intervals(bad_texts[i], &intervals) && !intervals.nr_processes,
		      "bad intervals %zu are refused", i);
}

static const struct jp_interval *find_interval(const struct jp_intervals *intervals, uint64_t time,
					       uint64_t slack)
{
	return jp_intervals_find(intervals, time, slack);
}

TEST(intervals)
{
	struct jp_intervals all;

	check(parse_intervals(
		      "gate backfill\nprocess 2147483647 10 11 a b\ninterval 2147483647 11 12 "
		      "20 21\ninterval 2147483647 30 30 30 30\nprocess 7 40 40 "
		      "01234567890123456789012345678901234567890123456789012345678901\n"
		      "process 7 40 50 y\ninterval 7 50 51 60 61\n",
		      &all),
	      "a file of intervals is read");
	check(!strcmp(all.gate, "backfill") && all.nr_processes == 3 && all.nr_intervals == 3,
	      "all its lines are read");
	check(all.processes[0].pid == INT32_MAX && all.processes[0].announcement_time == 10 &&
		      all.processes[0].answer_time == 11 && !strcmp(all.processes[0].comm, "a b"),
	      "the fields of a process are read");
	check(all.intervals[0].enabling == 11 && all.intervals[0].enabled == 12 &&
		      all.intervals[0].disabling == 20 && all.intervals[0].disabled == 21 &&
		      all.intervals[0].pid == INT32_MAX && all.intervals[2].process == 2,
	      "the fields of an interval are read");
	check(!find_interval(&all, 10, 0) && find_interval(&all, 11, 0) == all.intervals &&
		      find_interval(&all, 21, 0) && !find_interval(&all, 22, 0) &&
		      !find_interval(&all, 29, 0) &&
		      find_interval(&all, 30, 0) == all.intervals + 1,
	      "both ends belong to an interval");
	check(find_interval(&all, 10, 1) && !find_interval(&all, 9, 1) &&
		      find_interval(&all, 22, 1) == all.intervals && !find_interval(&all, 23, 1) &&
		      find_interval(&all, 29, 1) == all.intervals + 1 &&
		      !find_interval(&all, 63, 1) && !find_interval(&all, UINT64_MAX, 5),
	      "the slack extends an interval");
	check(jp_intervals_find_process(&all, 7, 45) == all.processes + 2 &&
		      jp_intervals_find_process(&all, 7, 40) == all.processes + 2 &&
		      jp_intervals_find_process(&all, 7, 5) == all.processes + 1 &&
		      jp_intervals_find_process(&all, INT32_MAX, 99) == all.processes &&
		      !jp_intervals_find_process(&all, 8, 99),
	      "the last announcement by a time is found, else the first");
	check(jp_intervals_get_backfill_time(&all, all.processes, 5) == 5 &&
		      jp_intervals_get_backfill_time(&all, all.processes + 1, 5) == 30 &&
		      jp_intervals_get_backfill_time(&all, all.processes + 2, 5) == 31,
	      "a backfill is dated when the events went off, and each later one 1 ns behind");
	jp_intervals_free(&all);
	check(!all.processes && !all.nr_intervals, "the freed list is empty");
	check(parse_intervals("gate sideband\nprocess 7 1 2 a\\040b\\134\\377", &all) &&
		      !strcmp(all.processes[0].comm, "a b\\\xff"),
	      "escaped bytes of a name are read");
	jp_intervals_free(&all);
}

#define NEEDED                                                                                     \
	"policy exec\nenabled 1\nsampling 2\nstopped 3\nslack 4\nmax_stack 127\nstack_dump 8\n"    \
	"lost_sideband 5\nlost_samples 6\nduplicates 7\nbreakpoints 0\n"

static bool parse_info(const char *text, struct jp_capture_info *info)
{
	char copy[1024];
	struct jp_error err;

	memset(info, 0, sizeof(*info));
	snprintf(copy, sizeof(copy), "%s", text);
	return !jp_capture_info_parse(info, "capture", copy, &err);
}

TEST(capture_file)
{
	static const char *const bad_texts[] = {
		NEEDED,
		NEEDED "settled yes\nsettled yes",
		NEEDED "settled yes\nlacks",
		NEEDED "settled yes\nsamples x",
		NEEDED "settled yes\ncounted -1",
		NEEDED "settled yes\ncounted 1\ncounted 1",
	};
	struct jp_capture_info info;

	check(parse_info(NEEDED "settled yes\n", &info) && info.settled && info.enabled == 1 &&
		      info.lost_samples == 6 && !strcmp(info.policy, "exec"),
	      "the required keys are read");
	check(parse_info("later x\n" NEEDED "settled no\nanother 1\nmore y\ncounted 9", &info) &&
		      !info.settled && info.counted == 9,
	      "unknown keys are ignored");
	check(parse_info(NEEDED "settled yes\nlacks 0123456789012345678901234567890123456789",
			 &info) &&
		      strlen(info.lacks) == sizeof(info.lacks) - 1,
	      "a long text is cut");
	for (size_t i = 0; i < sizeof(bad_texts) / sizeof(*bad_texts); i++)
		check(!parse_info(bad_texts[i], &info), "bad capture %zu is refused", i);
	for (size_t drop = 0; drop < 11; drop++) {
		char text[512], *line = text, *next;

		strcpy(text, NEEDED "settled yes\n");
		for (size_t i = 0; i < drop; i++)
			line = strchr(line, '\n') + 1;
		next = strchr(line, '\n') + 1;
		memmove(line, next, strlen(next) + 1);
		check(!parse_info(text, &info), "a capture without line %zu is refused", drop);
	}
}

TEST(order_of_capture_times)
{
	static const struct {
		int enabled, sampling, stopped;
		bool is_valid;
	} table[] = {{1, 1, 1, true}, {0, 1, 2, false}, {2, 1, 3, false}, {1, 3, 2, false}};
	struct jp_capture_info info;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		char text[512], *after = strstr(NEEDED, "slack");

		snprintf(text, sizeof(text),
			 "policy x\nenabled %d\nsampling %d\nstopped %d\n%ssettled yes\n",
			 table[i].enabled, table[i].sampling, table[i].stopped, after);
		check(parse_info(text, &info) == table[i].is_valid, "times %zu are judged right",
		      i);
	}
}

TEST(written_capture_file)
{
	static const char expected_start[] = "policy exec\nenabled 1\nsampling 2\nstopped 3\n";
	char text[2048] = "";
	struct jp_capture_info info, reread;
	struct jp_error err = {""};

	if (!check(parse_info(NEEDED "settled yes\ncounted 77\nevent cpu-clock", &info),
		   "a capture is parsed"))
		return;
	check(!jp_capture_info_write(&info, scratch_folder(), &err), "a capture is written %s",
	      err.text);
	check(!jp_capture_info_write(&info, scratch_folder(), &err), "it is written once more %s",
	      err.text);
	check(jp_file_read_text(scratch_path("capture"), text, sizeof(text)) > 0,
	      "the file exists");
	check(!strncmp(text, expected_start, strlen(expected_start)) &&
		      strstr(text, "\nsettled yes\n") && strstr(text, "\nkernel no\n") &&
		      !strstr(text, "lacks"),
	      "keys are in order, without empty ones");
	check(parse_info(text, &reread) && !memcmp(&info, &reread, sizeof(info)),
	      "it is read back");
	check(jp_capture_info_write(&info, scratch_path("none"), &err) && strstr(err.text, "/none"),
	      "a missing folder is an error: %s", err.text);
}

static bool parse_maps(const char *text, struct jp_procmap **maps, size_t *count)
{
	struct jp_error err;

	return !jp_procmaps_parse(text, strlen(text), maps, count, &err);
}

TEST(maps)
{
	static const char *const bad_texts[] = {
		"1000-2000 r-xp 0 0:0 0 a",
		"2000-2000 r-xp 0 0:0 0\n",
		"1000-2000 \n",
		"1000-2000 qwxp 0 0:0 0\n",
		"1000-2000 rqxp 0 0:0 0\n",
		"1000-2000 rwqp 0 0:0 0\n",
		"1000-2000 rwxq 0 0:0 0\n",
		"1000-2000 rwx\n",
		"1000-2000 rw\n",
		"1000-2000 r\n",
		"1000 2000 r-xp 0 0:0 0\n",
		"-2000 r-xp 0 0:0 0\n",
		"1000-2000 r-xp g 0:0 0\n",
		"1000-2000 r-xp 0 0-0 0\n",
		"1000-2000 r-xp 0 100000000:0 0\n",
		"1000-2000 r-xp 0 0:100000000 0\n",
		"1000-2000 r-xp 0 0:0 a\n",
		"1000-2000 r-xp 0 0:0 18446744073709551616\n",
		"1000-2000 r-xp 0 0:0 0x\n",
		"10000000000000000-20000000000000000 r-xp 0 0:0 0\n",
		"1000-2000 r-xp 0 0:0\n",
	};
	struct jp_procmap *maps;
	struct jp_error err;
	size_t count;

	check(parse_maps("1000-ffffffffffffffff rwxs ff ffffffff:fffffffe 18446744073709551615   "
			 "/a\\012b\\01\n1000-2000 ---p 0 0:0 0\n2000-3000 r-xp 0 0:0 9 \n",
			 &maps, &count) &&
		      count == 3,
	      "lines of maps are read");
	check(maps[0].start == 0x1000 && maps[0].end == UINT64_MAX && maps[0].offset == 0xff &&
		      maps[0].maj == UINT32_MAX && maps[0].min == UINT32_MAX - 1 &&
		      maps[0].ino == UINT64_MAX && maps[0].shared == 's' &&
		      maps[0].prot == (JP_PROT_READ | JP_PROT_WRITE | JP_PROT_EXEC),
	      "all fields of a line are read");
	check(!strcmp(maps[0].name, "/a\nb\\01"), "a newline in a name is read");
	check(!maps[1].prot && maps[1].shared == 'p' && !*maps[1].name && !*maps[2].name &&
		      maps[2].prot == (JP_PROT_READ | JP_PROT_EXEC) && maps[2].ino == 9,
	      "empty fields are read");
	free(maps);
	check(parse_maps("", &maps, &count) && !count, "an empty file is read");
	free(maps);
	check(jp_procmaps_parse("1000-2000 rwxp 0 0:0 0\n1000-2000 rqxp", 37, &maps, &count,
				&err) &&
		      strstr(err.text, "line 2"),
	      "the error names a cut line: %s", err.text);
	check(jp_procmaps_parse("1000-2000 rqxp 0 0:0 0\n", 23, &maps, &count, &err) &&
		      strstr(err.text, "line 1, column 12:"),
	      "the error names line and column: %s", err.text);
	for (size_t i = 0; i < sizeof(bad_texts) / sizeof(*bad_texts); i++)
		if (!check(!parse_maps(bad_texts[i], &maps, &count), "bad maps %zu are refused", i))
			free(maps);
}
