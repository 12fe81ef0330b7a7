// SPDX-License-Identifier: GPL-2.0-only
/* One byte of a capture's mapping against the truth's: what each of them tells, and no more. */
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_events.h"
#include "validators/mapping_compare.h"

enum { RX = JP_PROT_READ | JP_PROT_EXEC, SHARED = 1, PRIVATE = 2 };

static const struct jp_procmap file = {.offset = 0x3000,
				       .prot = RX,
				       .shared = 'p',
				       .maj = 8,
				       .min = 1,
				       .ino = 77,
				       .name = "/lib/a.so"};
static const struct jp_procmap none = {.prot = RX, .shared = 'p', .name = ""};
static const struct jp_procmap named = {.prot = RX, .shared = 'p', .name = "[anon:jit]"};

/* What the truth has at 0x10000, and what a record says of it. */
struct row {
	const char *what;
	const struct jp_procmap *line;
	uint64_t moved, shift;
	uint64_t pgoff;
	uint32_t flags, maj, min;
	uint64_t ino;
	uint8_t prot;
	const char *name;
	const char *differs; /* NULL: nothing */
};

static const struct row rows[] = {
	{"a file", &file, 0, -0xd000, 0x3000, PRIVATE, 8, 1, 77, RX, "/lib/a.so", NULL},
	{"that is gone by then", &file, 0, -0xd000, 0x3000, PRIVATE, 8, 1, 77, RX,
	 "/lib/a.so (deleted)", NULL},
	{"with a longer name", &file, 0, -0xd000, 0x3000, PRIVATE, 8, 1, 77, RX, "/lib/a.so.1",
	 "name"},
	{"with a shorter name", &file, 0, -0xd000, 0x3000, PRIVATE, 8, 1, 77, RX, "/lib/a.s",
	 "name"},
	{"a page further", &file, 0, -0xd000, 0x4000, PRIVATE, 8, 1, 77, RX, "/lib/a.so", "offset"},
	{"moved by a page", &file, 0x1000, -0xc000, 0x3000, PRIVATE, 8, 1, 77, RX, "/lib/a.so",
	 NULL},
	{"on another device", &file, 0, -0xd000, 0x3000, PRIVATE, 9, 1, 77, RX, "/lib/a.so",
	 "device"},
	{"on its second half", &file, 0, -0xd000, 0x3000, PRIVATE, 8, 2, 77, RX, "/lib/a.so",
	 "device"},
	{"another inode", &file, 0, -0xd000, 0x3000, PRIVATE, 8, 1, 78, RX, "/lib/a.so", "inode"},
	{"shared", &file, 0, -0xd000, 0x3000, SHARED, 8, 1, 77, RX, "/lib/a.so", "sharing"},
	{"writable", &file, 0, -0xd000, 0x3000, PRIVATE, 8, 1, 77, 7, "/lib/a.so", "protection"},
	{"a memfd instead", &file, 0, -0xd000, 0x3000, PRIVATE, 8, 1, 77, RX, "/memfd:a", "kind"},
	{"memory without a name", &none, 0, 0, 0x10000, PRIVATE, 0, 0, 0, RX, "//anon", NULL},
	{"with one in maps alone", &named, 0, 0, 0x10000, PRIVATE, 0, 0, 0, RX, "//anon", NULL},
	{"part of the heap", &none, 0, 0, 0x10000, PRIVATE, 0, 0, 0, RX, "[heap]", NULL},
	{"of maps, without offset", &none, 0, 0, 0, PRIVATE, 0, 0, 0, RX, "//anon", NULL},
	{"elsewhere", &none, 0, 0, 0x20000, PRIVATE, 0, 0, 0, RX, "//anon", "offset"},
	{"moved, with its offset", &none, 0x8000, 0, 0x8000, PRIVATE, 0, 0, 0, RX, "//anon", NULL},
	{"moved, with a new one", &none, 0x8000, 0, 0x10000, PRIVATE, 0, 0, 0, RX, "//anon", NULL},
	{"of a device", &none, 0, 0, 0x10000, PRIVATE, 0, 1, 0, RX, "//anon", "device"},
	{"of an inode", &none, 0, 0, 0x10000, PRIVATE, 0, 0, 5, RX, "//anon", "inode"},
	{"of which no mark told", NULL, 0, 0, 0x10000, PRIVATE, 0, 0, 0, RX, "//anon", NULL},
	{"which is shared", NULL, 0, 0, 0x10000, SHARED, 0, 0, 0, RX, "//anon", "sharing"},
	{"which moved", NULL, 0x8000, 0, 0x8000, PRIVATE, 0, 0, 0, RX, "//anon", NULL},
	{"which lies elsewhere", NULL, 0x8000, 0, 0x9000, PRIVATE, 0, 0, 0, RX, "//anon", "offset"},
	{"which has a device", NULL, 0, 0, 0x10000, PRIVATE, 1, 0, 0, RX, "//anon", "device"},
	{"which has an inode", NULL, 0, 0, 0x10000, PRIVATE, 0, 0, 5, RX, "//anon", "inode"},
	{"which is a file", NULL, 0, 0, 0x10000, PRIVATE, 8, 1, 77, RX, "/lib/a.so", "kind"},
};

static struct jp_event record_of(const struct row *row)
{
	return (struct jp_event)MADE_EVENT(MAP, 0, 0, .map.addr = 0x10000, .map.len = 0x2000,
					   .map.pgoff = row->pgoff, .map.maj = row->maj,
					   .map.min = row->min, .map.ino = row->ino,
					   .map.has_identity = true, .map.prot = row->prot,
					   .map.flags = row->flags, .map.name = row->name);
}

static bool same(const char *one, const char *other)
{
	return one && other ? strcmp(one, other) == 0 : one == other;
}

static void records(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct jp_memory memory = {.line = rows[i].line, .shift = rows[i].shift};
		const struct jp_executable truth = {.prot = RX, .moved = rows[i].moved};
		struct jp_event record = record_of(&rows[i]);
		const char *first, *last;

		first = jp_mapping_record_differs(&memory, &truth, &record, false, 0x10000);
		last = jp_mapping_record_differs(&memory, &truth, &record, false, 0x11fff);
		check(same(first, rows[i].differs), "%s: %s", rows[i].what,
		      first ? first : "the same");
		/* The offset of a byte follows from that of the first. */
		check(same(last, rows[i].differs), "%s, its last byte: %s", rows[i].what,
		      last ? last : "the same");
	}
}

/* Nothing is asked of what a record cannot tell. */
static void less(void)
{
	const struct jp_memory memory = {.line = &file, .shift = -0xd000};
	const struct jp_executable truth = {.prot = RX};
	const struct row row = {"", &file, 0, 0, 0x3000, SHARED, 9, 9, 9, 7, "/lib/a.so", NULL};
	const unsigned char id[20] = {1};
	struct jp_event record = record_of(&row);

	record.map.has_identity = false;
	check(!jp_mapping_record_differs(&memory, &truth, &record, false, 0x10000),
	      "an MMAP tells no protection, sharing or inode");
	record.map.build_id = id;
	record.map.prot = RX;
	record.map.flags = PRIVATE;
	check(!jp_mapping_record_differs(&memory, &truth, &record, false, 0x10000),
	      "one with a build id no inode");
	record.map.prot = 7;
	check(same(jp_mapping_record_differs(&memory, &truth, &record, false, 0x10000),
		   "protection"),
	      "but protection");
}

/* The kernel tells the offset of what has no file as its address, maps as 0. */
static void live(void)
{
	const struct row row = {"", &none, 0, 0, 0, PRIVATE, 0, 0, 0, RX, "//anon", NULL};
	const struct jp_memory memory = {.line = &none};
	const struct jp_executable truth = {.prot = RX};
	const struct jp_event record = record_of(&row);

	check(!jp_mapping_record_differs(&memory, &truth, &record, false, 0x10000),
	      "an offset of 0 that was read");
	check(same(jp_mapping_record_differs(&memory, &truth, &record, true, 0x10000), "offset"),
	      "is none of a live record");
}

int main(void)
{
	records();
	live();
	less();
	return check_done();
}
