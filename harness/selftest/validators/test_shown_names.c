// SPDX-License-Identifier: GPL-2.0-only
/* Comparing a shown name with the true one and with that of perf's rules. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_events.h"
#include "validators/shown_reading.h"

enum { PID = 9 };

static void write_map(const char *dir)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "%s/perf-%d.map", dir, PID);
	map = fopen(path, "w");
	if (!map || fputs("1000 20 old\n1010 30 func\n", map) < 0 || fclose(map))
		exit(99);
}

/* Of two lines that overlap, perf finds the first up to its end, and the second behind it. A reader
 * can look up a caller's return address, or the address before. */
TEST(overlapping_lines)
{
	char dir[] = "/tmp/shown-names-XXXXXX", path[64];
	struct jp_truth_code code = {.pid = PID,
				     .addr = 0x1010,
				     .size = 0x30,
				     .name = "func",
				     .loaded = 10,
				     .ready = 11,
				     .unloaded = UINT64_MAX,
				     .ending = UINT64_MAX};
	uint64_t reach = 0x1040;
	struct jp_truth truth = {.version = 3,
				 .e_machine = EM_X86_64,
				 .codes = &code,
				 .nr_codes = 1,
				 .code_reach = &reach};
	const struct jp_evidence evidence = {.truth = &truth};
	struct jp_incarnation incarnation = {.code = &code, .begin = 11, .end = UINT64_MAX};
	const struct jp_incarnations incarnations = {
		.evidence = &evidence, .incarnations = &incarnation, .count = 1, .largest = 0x30};
	const struct jp_event mmap = MADE_EVENT(
		MAP, PID, 5, .map = {.addr = 0x1000, .len = 0x1000, .prot = 5, .name = "//anon"});
	const struct jp_event event = MADE_EVENT(SAMPLE, PID, 100);
	const struct jp_code_loads no_loads = {0};
	struct jp_replay *spaces = jp_replay_new();
	struct jp_file_finder *finder;
	const struct jp_view view = {.evidence = &evidence, .spaces = spaces};
	struct jp_naming naming = {
		.view = &view, .loads = &no_loads, .incarnations = &incarnations};
	const struct jp_shown_frame frame = {.name = "func", .offset = UINT64_MAX};
	bool is_judged = false;

	if (!mkdtemp(dir) || !spaces || jp_replay_apply(spaces, &mmap))
		exit(99);
	write_map(dir);
	finder = jp_file_finder_of_run(dir);
	naming.names = finder ? jp_names_new(finder) : NULL;
	if (!naming.names)
		exit(99);
	check(!jp_shown_name_cause(&naming, &event, &frame, 0x101f, true, &is_judged) && is_judged,
	      "the return address has the right name");
	check(jp_shown_name_cause(&naming, &event, &frame, 0x101f, false, &is_judged) != NULL,
	      "a sampled address there has the other name");
	check(jp_shown_name_cause(&naming, &event, &frame, 0x1018, true, &is_judged) != NULL,
	      "so has a caller whose return address lies within the first line");
	jp_names_free(naming.names);
	jp_file_finder_free(finder);
	jp_replay_free(spaces);
	snprintf(path, sizeof(path), "%s/perf-%d.map", dir, PID);
	unlink(path);
	rmdir(dir);
}
