// SPDX-License-Identifier: GPL-2.0-only
/* Tests comparing one byte of a recorded mapping with the truth, field by field. */
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

/* The truth's mapping at 0x10000, and the fields of its record. */
struct row {
	const char *label;
	const struct jp_procmap *line;
	uint64_t new_addr, shift;
	uint64_t pgoff;
	uint32_t flags, maj, min;
	uint64_t ino;
	uint8_t prot;
	const char *name;
	const char *differing_field; /* name of the differing field; NULL: no field differs */
};

static const struct row rows[] = {
	{"a file", &file, 0, -0xd000, 0x3000, PRIVATE, 8, 1, 77, RX, "/lib/a.so", NULL},
	{"a file deleted since", &file, 0, -0xd000, 0x3000, PRIVATE, 8, 1, 77, RX,
	 "/lib/a.so (deleted)", NULL},
	{"a longer name", &file, 0, -0xd000, 0x3000, PRIVATE, 8, 1, 77, RX, "/lib/a.so.1", "name"},
	{"a shorter name", &file, 0, -0xd000, 0x3000, PRIVATE, 8, 1, 77, RX, "/lib/a.s", "name"},
	{"another file offset", &file, 0, -0xd000, 0x4000, PRIVATE, 8, 1, 77, RX, "/lib/a.so",
	 "offset"},
	{"a file's mapping moved by a page", &file, 0x1000, -0xc000, 0x3000, PRIVATE, 8, 1, 77, RX,
	 "/lib/a.so", NULL},
	{"another device", &file, 0, -0xd000, 0x3000, PRIVATE, 9, 1, 77, RX, "/lib/a.so", "device"},
	{"another minor number", &file, 0, -0xd000, 0x3000, PRIVATE, 8, 2, 77, RX, "/lib/a.so",
	 "device"},
	{"another inode", &file, 0, -0xd000, 0x3000, PRIVATE, 8, 1, 78, RX, "/lib/a.so", "inode"},
	{"a shared mapping", &file, 0, -0xd000, 0x3000, SHARED, 8, 1, 77, RX, "/lib/a.so",
	 "sharing"},
	{"a writable mapping", &file, 0, -0xd000, 0x3000, PRIVATE, 8, 1, 77, 7, "/lib/a.so",
	 "protection"},
	{"a memfd instead", &file, 0, -0xd000, 0x3000, PRIVATE, 8, 1, 77, RX, "/memfd:a", "kind"},
	{"memory without a name", &none, 0, 0, 0x10000, PRIVATE, 0, 0, 0, RX, "//anon", NULL},
	{"memory named in maps alone", &named, 0, 0, 0x10000, PRIVATE, 0, 0, 0, RX, "//anon", NULL},
	{"part of the heap", &none, 0, 0, 0x10000, PRIVATE, 0, 0, 0, RX, "[heap]", NULL},
	{"memory with the offset 0 of maps", &none, 0, 0, 0, PRIVATE, 0, 0, 0, RX, "//anon", NULL},
	{"memory with another offset", &none, 0, 0, 0x20000, PRIVATE, 0, 0, 0, RX, "//anon",
	 "offset"},
	{"moved memory with its new address as offset", &none, 0x8000, 0, 0x8000, PRIVATE, 0, 0, 0,
	 RX, "//anon", NULL},
	{"moved memory with its old address as offset", &none, 0x8000, 0, 0x10000, PRIVATE, 0, 0, 0,
	 RX, "//anon", NULL},
	{"memory with a device", &none, 0, 0, 0x10000, PRIVATE, 0, 1, 0, RX, "//anon", "device"},
	{"memory with an inode", &none, 0, 0, 0x10000, PRIVATE, 0, 0, 5, RX, "//anon", "inode"},
	{"memory in no snapshot of maps", NULL, 0, 0, 0x10000, PRIVATE, 0, 0, 0, RX, "//anon",
	 NULL},
	{"memory in no snapshot, shared", NULL, 0, 0, 0x10000, SHARED, 0, 0, 0, RX, "//anon",
	 "sharing"},
	{"memory in no snapshot, moved", NULL, 0x8000, 0, 0x8000, PRIVATE, 0, 0, 0, RX, "//anon",
	 NULL},
	{"memory in no snapshot, with another offset", NULL, 0x8000, 0, 0x9000, PRIVATE, 0, 0, 0,
	 RX, "//anon", "offset"},
	{"memory in no snapshot, with a device", NULL, 0, 0, 0x10000, PRIVATE, 1, 0, 0, RX,
	 "//anon", "device"},
	{"memory in no snapshot, with an inode", NULL, 0, 0, 0x10000, PRIVATE, 0, 0, 5, RX,
	 "//anon", "inode"},
	{"memory in no snapshot, recorded as a file", NULL, 0, 0, 0x10000, PRIVATE, 8, 1, 77, RX,
	 "/lib/a.so", "kind"},
};

static bool texts_equal(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

TEST(records)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct jp_memory memory = {.line = rows[i].line, .shift = rows[i].shift};
		const struct jp_executable truth = {.prot = RX, .distance = rows[i].new_addr};
		struct jp_event record = (struct jp_event)MADE_EVENT(
			MAP, 0, 0, .map.addr = 0x10000, .map.len = 0x2000,
			.map.pgoff = rows[i].pgoff, .map.maj = rows[i].maj, .map.min = rows[i].min,
			.map.ino = rows[i].ino, .map.has_identity = true, .map.prot = rows[i].prot,
			.map.flags = rows[i].flags, .map.name = rows[i].name);
		const char *first, *last;

		first = jp_mapping_record_differs(&memory, &truth, &record, false, 0x10000);
		last = jp_mapping_record_differs(&memory, &truth, &record, false, 0x11fff);
		check(texts_equal(first, rows[i].differing_field), "%s: %s", rows[i].label,
		      first ? first : "the same");
		/* The comparison adds the byte's distance to the record's offset. */
		check(texts_equal(last, rows[i].differing_field), "%s, its last byte: %s",
		      rows[i].label, last ? last : "the same");
	}
}
