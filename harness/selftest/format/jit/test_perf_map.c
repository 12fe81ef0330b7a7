// SPDX-License-Identifier: GPL-2.0-only
/* Tests that names found in perf maps are those that perf 5.10 to 7.3 found in the same files. */
#include "harness/selftest/support/perf_map_of.h"
#include "harness/selftest/support/scratch.h"

static const char *path;

static struct jp_perf_map *load_map(const char *text, size_t size)
{
	return scratch_write(path, text, size) ? read_perf_map(path, -1, NULL) : NULL;
}

static void check_name(const struct jp_perf_map *map, uint64_t addr, const char *name)
{
	const char *found = jp_perf_map_find(map, addr);

	check(name ? found && !strcmp(found, name) : !found, "0x%llx: %s, found %s",
	      (unsigned long long)addr, name ? name : "none", found ? found : "none");
}

static void test_mixed_lines(void)
{
	static const char text[] = "7000000000 40 first_zero\n"
				   "7000000000 40 second_zero\n"
				   "7000000040 40 one\n"
				   "7000000040 80 one_long\n"
				   "7000000080 40 two\n"
				   "70000000c0 40 ab\n"
				   "7000000100 40 abc\n"
				   "7000000140 40 name with blanks  two\n"
				   "0x7000000180 0x40 withprefix\n"
				   "70000001c0 400 wide\n"
				   "7000000200 40 inside_wide\n"
				   "7000000240 0 zero_size\n"
				   "7000000280 40 lastnonl";
	struct jp_perf_map *map = load_map(text, sizeof(text) - 1);

	if (!check(map, "a map with lines of all kinds is read"))
		return;
	check_name(map, 0x6fffffffff, NULL);
	check_name(map, 0x7000000004, "second_zero");
	check_name(map, 0x7000000044, "one_long");
	check_name(map, 0x7000000084, "one_long");
	check_name(map, 0x70000000c4, NULL);
	check_name(map, 0x7000000104, "abc");
	check_name(map, 0x7000000144, "name with blanks  two");
	check_name(map, 0x7000000184, "withprefix");
	check_name(map, 0x70000001c4, "wide");
	check_name(map, 0x7000000204, "inside_wide");
	check_name(map, 0x7000000240, "zero_size");
	check_name(map, 0x7000000244, NULL);
	check_name(map, 0x7000000284, "lastnon");
	check_name(map, 0x70000002c4, NULL);
	check(jp_perf_map_covers(map, 0x7000000244) && jp_perf_map_covers(map, 0x70000002c4),
	      "addresses that perf misses are covered by overlapping lines");
	check(!jp_perf_map_covers(map, 0x70000000c4) && !jp_perf_map_covers(map, 0x6fffffffff) &&
		      !jp_perf_map_covers(map, 0x70000005c0),
	      "addresses in no line are not covered");
	check(jp_perf_map_bad_lines(map) == 1, "a line with a name of two characters is bad");
	jp_perf_map_free(map);
}

/* Random overlapping lines: an address is covered if any line has it. */
static void test_coverage(void)
{
	enum { LINES = 300, SPACE = 4096 };
	static bool held[SPACE + 64];
	char text[LINES * 24];
	struct jp_perf_map *map;
	unsigned right = 0, random = 1;
	size_t size = 0;

	for (unsigned i = 0; i < LINES; i++) {
		unsigned start, length;

		random = random * 1103515245 + 12345;
		start = random >> 8 & (SPACE - 1);
		length = random >> 20 & 31;
		memset(held + start, true, length);
		size += sprintf(text + size, "%x %x name\n", 0x10000 + start, length);
	}
	map = load_map(text, size);
	for (unsigned at = 0; map && at < SPACE; at++)
		right += jp_perf_map_covers(map, 0x10000 + at) == held[at];
	check(right == SPACE, "%u of %d addresses have the right coverage", right, SPACE);
	jp_perf_map_free(map);
}

/* If all lines of a hostile map have one address, only a limited number is examined. */
static void test_ambiguous_lines(void)
{
	enum { LINES = 4096 };
	static char text[LINES * 24];
	struct jp_perf_map *map;

	for (int others = 0; others < 3; others++) {
		size_t size = 0;

		/* The different name is in no line, in the first eighth, or in the last quarter. */
		for (int i = 0; i < LINES; i++) {
			bool other = others == 1 ? i < LINES / 8 : others && i >= LINES * 3 / 4;

			size += sprintf(text + size, "%x 10000 %s\n", 0x10000 + i,
					other ? "other" : "name");
		}
		map = load_map(text, size);
		check(map && jp_perf_map_is_ambiguous(map, 0x10fff) == (others == 1),
		      "of %d lines another name is in %s", LINES,
		      !others       ? "no line"
		      : others == 1 ? "the first eighth"
				    : "the last quarter, too late");
		jp_perf_map_free(map);
	}
}

static void test_many_lines(void)
{
	enum { COUNT = 20000 };
	char *text = malloc(COUNT * 32), name[16];
	size_t size = 0;
	struct jp_perf_map *map;
	unsigned right = 0;

	for (unsigned i = 0; i < COUNT; i++) {
		unsigned at = i * 7919u % COUNT; /* a prime, so that each index comes once */

		size += sprintf(text + size, "%x 10 f%u_\n", 0x10000 + at * 16, at);
	}
	map = load_map(text, size);
	for (unsigned at = 0; map && at < COUNT; at++) {
		const char *first = jp_perf_map_find(map, 0x10000 + at * 16);
		const char *last = jp_perf_map_find(map, 0x10000 + at * 16 + 15);

		snprintf(name, sizeof(name), "f%u_", at);
		right += first && last && !strcmp(first, name) && !strcmp(last, name);
	}
	check(right == COUNT, "%u of %d addresses of a large map are right", right, COUNT);
	jp_perf_map_free(map);
	free(text);
}

static void check_bad_lines(const char *what, const char *text, size_t size, uint64_t bad)
{
	struct jp_perf_map *map = load_map(text, size);

	check(map && jp_perf_map_bad_lines(map) == bad, "%s: %llu bad lines are counted", what,
	      map ? (unsigned long long)jp_perf_map_bad_lines(map) : 0);
	if (map)
		jp_perf_map_find(map, UINT64_MAX);
	jp_perf_map_free(map);
}

static void check_refusal(const char *what, int64_t owner, const char *says)
{
	struct jp_error err = {""};
	struct jp_perf_map *map = read_perf_map(path, owner, &err);

	check(!map && strstr(err.text, says) && strstr(err.text, path), "%s: %s", what, err.text);
	jp_perf_map_free(map);
	unlink(path);
}

static void test_strange_files(void)
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

static void test_unreadable(void)
{
	jp_cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct jp_error err = {""};

	check(fd >= 0 && !jp_perf_map_read(fd, path, 8, &err) && strstr(err.text, path),
	      "a file opened for writing alone is an error: %s", err.text);
}

int main(void)
{
	path = scratch_make("perf-17.map");
	test_mixed_lines();
	test_many_lines();
	test_coverage();
	test_ambiguous_lines();
	check_bad_lines("nothing", "", 0, 0);
	check_bad_lines("empty lines", "\n\n\n", 3, 3);
	check_bad_lines("zeros", "\0\0\0\0\0\0\0\0\0\0", 10, 1);
	check_bad_lines("numbers too large", "fffffffffffffffff ffffffffffffffffff abc\n", 41, 0);
	check_bad_lines("no numbers", "what is this line\n", 18, 1);
	check_bad_lines("a size that overflows", "fffffffffffffff0 40 name\n", 25, 0);
	test_unreadable();
	test_strange_files();
	return check_done();
}
