// SPDX-License-Identifier: GPL-2.0-only
/* What a control gives back of what it left out: in the order of time, with texts of its own. */
#include <sys/mman.h>

#include "harness/model/evidence/control.h"
#include "harness/selftest/check.h"

static const struct jp_snapshot snapshot = {.pid = 7, .before = 30};
static const struct jp_procmap maps[] = {
	{.start = 0x1000, .end = 0x3000, .offset = 0x200, .ino = 9, .shared = 's', .name = "/a"},
	{.start = 0x5000, .end = 0x6000, .offset = 0x300, .shared = 'p', .name = ""},
};

static int give(const struct jp_evidence *evidence, struct jp_extras *extras)
{
	static const uint64_t times[] = {20, 10, 15, 20};
	char name[] = "name 0";

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		const struct jp_event event = {
			.type = JP_EVENT_COMM, .time = times[i], .comm = {name, false}};

		name[5] = (char)('0' + i);
		if (jp_extras_add(extras, &event))
			return -1;
	}
	memset(name, 'x', sizeof(name) - 1);
	return jp_extras_add_map(extras, &snapshot, &maps[0])
		       ?: jp_extras_add_map(extras, &snapshot, &maps[1]);
}

int main(void)
{
	static const struct jp_control control = {.name = "test", .add_back = give};
	static const char *const names[] = {"name 1", "name 2", "name 0", "name 3"};
	struct jp_extras extras;
	const struct jp_event *map;

	check(!jp_extras_of(&extras, NULL, NULL) && !extras.count, "without a control nothing");
	jp_extras_free(&extras);
	check(!jp_extras_of(&extras, NULL, &control) && extras.count == 6, "six events");
	for (size_t i = 0; i < 4; i++)
		check(!strcmp(extras.events[i].comm.name, names[i]), "%s at %lu", names[i],
		      (unsigned long)extras.events[i].time);
	map = &extras.events[4];
	check(map->time == 30 && map->pid == 7 && map->map.addr == 0x1000 &&
		      map->map.len == 0x2000 && map->map.pgoff == 0x200 && map->map.ino == 9 &&
		      map->map.flags == MAP_SHARED && !strcmp(map->map.name, "/a"),
	      "a line of a snapshot");
	map = &extras.events[5];
	check(map->map.pgoff == 0x5000 && map->map.flags == MAP_PRIVATE &&
		      !strcmp(map->map.name, "//anon"),
	      "anonymous memory, as a record has it");
	jp_extras_free(&extras);
	check(!extras.count && !extras.events, "freed");
	return check_done();
}
