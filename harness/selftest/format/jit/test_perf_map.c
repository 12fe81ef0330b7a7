// SPDX-License-Identifier: GPL-2.0-only
/* Which name a perf map gives: what perf 5.10 to 7.3 gave for these very files. */
#include "harness/selftest/support/perf_map_of.h"
#include "harness/selftest/support/scratch.h"

static const char *path;

static struct jp_perf_map *load(const char *text, size_t size)
{
	return scratch_write(path, text, size) ? read_perf_map(path, -1, NULL) : NULL;
}

static void expect(const struct jp_perf_map *map, uint64_t addr, const char *name)
{
	const char *found = jp_perf_map_find(map, addr);

	check(name ? found && !strcmp(found, name) : !found, "0x%llx: %s, found %s",
	      (unsigned long long)addr, name ? name : "none", found ? found : "none");
}

static void read_mixed(void)
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
	struct jp_perf_map *map = load(text, sizeof(text) - 1);

	if (!check(map, "a map with all sorts of lines"))
		return;
	expect(map, 0x6fffffffff, NULL);
	expect(map, 0x7000000004, "second_zero");
	expect(map, 0x7000000044, "one_long");
	expect(map, 0x7000000084, "one_long");
	expect(map, 0x70000000c4, NULL);
	expect(map, 0x7000000104, "abc");
	expect(map, 0x7000000144, "name with blanks  two");
	expect(map, 0x7000000184, "withprefix");
	expect(map, 0x70000001c4, "wide");
	expect(map, 0x7000000204, "inside_wide");
	expect(map, 0x7000000240, "zero_size");
	expect(map, 0x7000000244, NULL);
	expect(map, 0x7000000284, "lastnon");
	expect(map, 0x70000002c4, NULL);
	check(jp_perf_map_covers(map, 0x7000000244) && jp_perf_map_covers(map, 0x70000002c4),
	      "what perf does not find stands in an overlapping line");
	check(!jp_perf_map_covers(map, 0x70000000c4) && !jp_perf_map_covers(map, 0x6fffffffff) &&
		      !jp_perf_map_covers(map, 0x70000005c0),
	      "what is in no line stands in none");
	check(jp_perf_map_bad_lines(map) == 1, "the name of two characters is a bad line");
	jp_perf_map_free(map);
}

/* Overlapping lines of all sorts: an address is covered where any line holds it. */
static void cover_many(void)
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
	map = load(text, size);
	for (unsigned at = 0; map && at < SPACE; at++)
		right += jp_perf_map_covers(map, 0x10000 + at) == held[at];
	check(right == SPACE, "%u of %d addresses are covered as they are", right, SPACE);
	jp_perf_map_free(map);
}

/* Of a hostile map, all of whose lines hold one address, only so many are looked at. */
static void ambiguous_many(void)
{
	enum { LINES = 4096 };
	static char text[LINES * 24];
	struct jp_perf_map *map;

	for (int others = 0; others < 3; others++) {
		size_t size = 0;

		/* The other name stands in none, in the first eighth, or in the last quarter. */
		for (int i = 0; i < LINES; i++) {
			bool other = others == 1 ? i < LINES / 8 : others && i >= LINES * 3 / 4;

			size += sprintf(text + size, "%x 10000 %s\n", 0x10000 + i,
					other ? "other" : "name");
		}
		map = load(text, size);
		check(map && jp_perf_map_ambiguous(map, 0x10fff) == (others == 1),
		      "%d lines, another name in the %s", LINES,
		      !others       ? "none"
		      : others == 1 ? "first eighth"
				    : "last quarter: it is too far");
		jp_perf_map_free(map);
	}
}

/* Without overlaps the tree's shape does not matter: each address has its line's name. */
static void read_many(void)
{
	enum { COUNT = 20000 };
	char *text = malloc(COUNT * 32), name[16];
	size_t size = 0;
	struct jp_perf_map *map;
	unsigned right = 0;

	for (unsigned i = 0; i < COUNT; i++) {
		unsigned at = i * 7919u % COUNT; /* a prime: each once */

		size += sprintf(text + size, "%x 10 f%u_\n", 0x10000 + at * 16, at);
	}
	map = load(text, size);
	for (unsigned at = 0; map && at < COUNT; at++) {
		const char *first = jp_perf_map_find(map, 0x10000 + at * 16);
		const char *last = jp_perf_map_find(map, 0x10000 + at * 16 + 15);

		snprintf(name, sizeof(name), "f%u_", at);
		right += first && last && !strcmp(first, name) && !strcmp(last, name);
	}
	check(right == COUNT, "%u of %d addresses in a large map", right, COUNT);
	jp_perf_map_free(map);
	free(text);
}

static void read_odd(const char *what, const char *text, size_t size, uint64_t bad)
{
	struct jp_perf_map *map = load(text, size);

	check(map && jp_perf_map_bad_lines(map) == bad, "%s: %llu bad lines", what,
	      map ? (unsigned long long)jp_perf_map_bad_lines(map) : 0);
	if (map)
		jp_perf_map_find(map, UINT64_MAX);
	jp_perf_map_free(map);
}

static void refuse(const char *what, int64_t owner, const char *says)
{
	struct jp_error err = {""};
	struct jp_perf_map *map = read_perf_map(path, owner, &err);

	check(!map && strstr(err.text, says) && strstr(err.text, path), "%s: %s", what, err.text);
	jp_perf_map_free(map);
	unlink(path);
}

static void refuse_strange(void)
{
	refuse("another user's", getuid() + 1, "belongs to");
	check(!symlink("/etc/passwd", path), "a link is made");
	refuse("a symbolic link", -1, "symbolic link");
	check(!mkfifo(path, 0600), "a FIFO is made");
	refuse("a FIFO", -1, "FIFO");
	jp_perf_map_free(load("x", 1));
	check(!truncate(path, INT64_C(1) << 42), "a hole of 4 TiB is made");
	refuse("a hole of 4 TiB", -1, "expected at most");
}

static void unreadable(void)
{
	jp_cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct jp_error err = {""};

	check(fd >= 0 && !jp_perf_map_read(fd, path, 8, &err) && strstr(err.text, path),
	      "what cannot be read: %s", err.text);
}

int main(void)
{
	path = scratch_make("perf-17.map");
	read_mixed();
	read_many();
	cover_many();
	ambiguous_many();
	read_odd("nothing", "", 0, 0);
	read_odd("empty lines", "\n\n\n", 3, 3);
	read_odd("zeros", "\0\0\0\0\0\0\0\0\0\0", 10, 1);
	read_odd("numbers too large", "fffffffffffffffff ffffffffffffffffff abc\n", 41, 0);
	read_odd("no numbers", "what is this line\n", 18, 1);
	read_odd("a size that overflows", "fffffffffffffff0 40 name\n", 25, 0);
	unreadable();
	refuse_strange();
	return check_done();
}
