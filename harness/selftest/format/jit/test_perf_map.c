// SPDX-License-Identifier: GPL-2.0-only
/* Tests large, ambiguous and strange perf maps; test_conformance.c tests the names of lines. */
#include "harness/selftest/support/perf_map_of.h"
#include "harness/selftest/support/scratch.h"

static const char *path;

static struct jp_perf_map *load_map(const char *text, size_t size)
{
	return scratch_write(path, text, size) ? read_perf_map(path, -1, NULL) : NULL;
}

TEST(path)
{
	path = scratch_make("perf-17.map");
}

/* Random overlapping lines: an address is covered if any line has it. */
TEST(coverage)
{
	enum { LINES = 300, SPACE = 4096 };
	static bool is_covered[SPACE + 64];
	char text[LINES * 24];
	struct jp_perf_map *map;
	unsigned nr_right = 0, random = 1;
	size_t size = 0;

	for (unsigned i = 0; i < LINES; i++) {
		unsigned start, length;

		random = random * 1103515245 + 12345;
		start = random >> 8 & (SPACE - 1);
		length = random >> 20 & 31;
		memset(is_covered + start, true, length);
		size += sprintf(text + size, "%x %x name\n", 0x10000 + start, length);
	}
	map = load_map(text, size);
	for (unsigned offset = 0; map && offset < SPACE; offset++)
		nr_right += jp_perf_map_covers(map, 0x10000 + offset) == is_covered[offset];
	check(nr_right == SPACE, "%u of %d addresses have the right coverage", nr_right, SPACE);
	jp_perf_map_free(map);
}

/* If all lines of a hostile map have one address, only a limited number is examined. */
TEST(ambiguous_lines)
{
	enum { LINES = 4096 };
	static char text[LINES * 24];
	struct jp_perf_map *map;

	for (int share = 0; share < 3; share++) {
		size_t size = 0;

		/* The different name is in no line, in the first eighth, or in the last quarter. */
		for (int i = 0; i < LINES; i++) {
			bool has_other_name =
				share == 1 ? i < LINES / 8 : share && i >= LINES * 3 / 4;

			size += sprintf(text + size, "%x 10000 %s\n", 0x10000 + i,
					has_other_name ? "other" : "name");
		}
		map = load_map(text, size);
		check(map && jp_perf_map_is_ambiguous(map, 0x10fff) == (share == 1),
		      "of %d lines another name is in %s", LINES,
		      !share       ? "no line"
		      : share == 1 ? "the first eighth"
				   : "the last quarter, too late");
		jp_perf_map_free(map);
	}
}

static void check_refusal(const char *label, int64_t owner, const char *says)
{
	struct jp_error err = {""};
	struct jp_perf_map *map = read_perf_map(path, owner, &err);

	check(!map && strstr(err.text, says) && strstr(err.text, path), "%s: %s", label, err.text);
	jp_perf_map_free(map);
	unlink(path);
}

TEST(strange_files)
{
	check_refusal("another user's", getuid() + 1, "belongs to");
	check(!symlink("/etc/passwd", path), "a symbolic link is made");
	check_refusal("a symbolic link", -1, "symbolic link");
	check(!mkfifo(path, 0600), "a FIFO is made");
	check_refusal("a FIFO", -1, "FIFO");
	jp_perf_map_free(load_map("x", 1));
	check(!truncate(path, INT64_C(1) << 42), "a hole of 4 TiB is made");
	check_refusal("a hole of 4 TiB", -1, "expected at most");
}

TEST(unreadable)
{
	jp_cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct jp_error err = {""};

	check(fd >= 0 && !jp_perf_map_read(fd, path, 8, &err) && strstr(err.text, path),
	      "a file opened for writing alone is an error: %s", err.text);
}
