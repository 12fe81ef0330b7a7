// SPDX-License-Identifier: GPL-2.0-only
/* How lint stores the bad lines of a perf map. */
#include "harness/lint/perf_map.h"
#include "harness/selftest/support/scratch.h"

static bool has_run(const struct jp_lint_map *map, size_t i, uint32_t first, uint32_t count)
{
	return i < map->nr_bad && map->bad_lines[i].first == first &&
	       map->bad_lines[i].count == count;
}

static struct jp_lint_map read_map(const char *text, size_t size)
{
	struct jp_lint_map map = {.file.path = scratch_path("perf-5.map")};
	struct jp_error err = {""};

	scratch_write(map.file.path, text, size);
	check(!jp_lint_map_read(&map, &err), "a map of %zu bytes is read: %s", size, err.text);
	return map;
}

TEST(runs_of_bad_lines)
{
	static const char text[] = "\n\n1 2 a\n\n1\n2\n\n";
	struct jp_lint_map map = read_map(text, strlen(text));

	check(map.count == 1 && map.lines[0].number == 3 && map.nr_bad_lines == 6,
	      "one good and six bad lines are counted");
	check(map.nr_bad == 4 && has_run(&map, 0, 1, 2) && has_run(&map, 1, 4, 1) &&
		      has_run(&map, 2, 5, 2) && has_run(&map, 3, 7, 1),
	      "adjacent bad lines with one reason form a run");
	check(map.bad_lines[0].reason == map.bad_lines[3].reason &&
		      map.bad_lines[0].reason != map.bad_lines[2].reason,
	      "runs have the right reasons");
	jp_lint_map_free(&map);
}
