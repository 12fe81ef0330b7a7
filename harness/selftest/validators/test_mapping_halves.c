// SPDX-License-Identifier: GPL-2.0-only
/* Tests records of adjacent mappings of one file. */
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_events.h"
#include "validators/mapping_halves.h"

enum { BEFORE = 1, BEHIND = 2 };

static const unsigned char id[20] = {1};

static struct jp_event make_record(uint64_t start, uint64_t end, uint64_t pgoff)
{
	return (struct jp_event)MADE_EVENT(MAP, 7, 0, .map.addr = start, .map.len = end - start,
					   .map.pgoff = pgoff, .map.ino = 5, .map.prot = 5,
					   .map.has_identity = true, .map.flags = 2);
}

static void check_record(struct jp_mapping_halves *halves, struct jp_event record, int met,
			 const char *label)
{
	bool before, touches_end;

	check(!jp_mapping_halves_note(halves, &record, &before, &touches_end) &&
		      (before ? BEFORE : 0) + (touches_end ? BEHIND : 0) == met,
	      "%s", label);
}

TEST(mapping_halves)
{
	struct jp_mapping_halves halves = {0};
	struct jp_event record;

	check_record(&halves, make_record(0x1000, 0x3000, 0x1000), 0, "the first has no neighbour");
	check_record(&halves, make_record(0x3000, 0x4000, 0x3000), BEFORE,
		     "a record that continues it has a neighbour before");
	check_record(&halves, make_record(0x3000, 0x4000, 0x4000), 0,
		     "another offset of the file is no neighbour");
	check_record(&halves, make_record(0x0, 0x1000, 0x0), BEHIND,
		     "a record that it continues has a neighbour behind");
	record = make_record(0x3000, 0x4000, 0x3000);
	record.pid = 8;
	check_record(&halves, record, 0, "another process's mapping is no neighbour");
	record = make_record(0x3000, 0x4000, 0x3000);
	record.map.prot = 1;
	check_record(&halves, record, 0, "a mapping of another protection is no neighbour");
	record = make_record(0x3000, 0x4000, 0x3000);
	record.map.ino = 6;
	check_record(&halves, record, 0, "another file's mapping is no neighbour");
	record = make_record(0x6000, 0x7000, 0x6000);
	record.map.has_identity = false;
	record.map.build_id = id;
	record.map.build_id_size = sizeof(id);
	check_record(&halves, record, 0, "a record with a build id has no neighbour yet");
	record.map.addr = record.map.pgoff = 0x7000;
	check_record(&halves, record, BEFORE, "a record with the same build id continues it");
	record.map.ino = 0;
	record.map.build_id = NULL;
	record.map.addr = record.map.pgoff = 0x9000;
	check_record(&halves, record, 0, "memory without a file has no neighbour");
	record.map.addr = record.map.pgoff = 0xa000;
	check_record(&halves, record, 0, "adjacent memory without a file has no neighbour");
	jp_mapping_halves_free(&halves);
}
