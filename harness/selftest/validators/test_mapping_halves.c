// SPDX-License-Identifier: GPL-2.0-only
/* Records of files' mappings that meet. */
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_events.h"
#include "validators/mapping_halves.h"

enum { BEFORE = 1, BEHIND = 2 };

static const unsigned char id[20] = {1};

static struct jp_event of(uint64_t start, uint64_t end, uint64_t pgoff)
{
	return (struct jp_event)MADE_EVENT(MAP, 7, 0, .map.addr = start, .map.len = end - start,
					   .map.pgoff = pgoff, .map.ino = 5, .map.prot = 5,
					   .map.has_identity = true, .map.flags = 2);
}

static void notes(struct jp_mapping_halves *halves, struct jp_event record, int met,
		  const char *what)
{
	bool before, behind;

	check(!jp_mapping_halves_note(halves, &record, &before, &behind) &&
		      (before ? BEFORE : 0) + (behind ? BEHIND : 0) == met,
	      "%s", what);
}

int main(void)
{
	struct jp_mapping_halves halves = {0};
	struct jp_event record;

	notes(&halves, of(0x1000, 0x3000, 0x1000), 0, "the first meets nobody");
	notes(&halves, of(0x3000, 0x4000, 0x3000), BEFORE, "what continues it does");
	notes(&halves, of(0x3000, 0x4000, 0x4000), 0, "not from elsewhere in the file");
	notes(&halves, of(0x0, 0x1000, 0x0), BEHIND, "what comes before it");
	record = of(0x3000, 0x4000, 0x3000);
	record.pid = 8;
	notes(&halves, record, 0, "not in another process");
	record = of(0x3000, 0x4000, 0x3000);
	record.map.prot = 1;
	notes(&halves, record, 0, "nor with another protection");
	record = of(0x3000, 0x4000, 0x3000);
	record.map.ino = 6;
	notes(&halves, record, 0, "nor of another file");
	record = of(0x6000, 0x7000, 0x6000);
	record.map.has_identity = false;
	record.map.build_id = id;
	record.map.build_id_size = sizeof(id);
	notes(&halves, record, 0, "one with a build id");
	record.map.addr = record.map.pgoff = 0x7000;
	notes(&halves, record, BEFORE, "is continued by one with the same");
	record.map.ino = 0;
	record.map.build_id = NULL;
	record.map.addr = record.map.pgoff = 0x9000;
	notes(&halves, record, 0, "memory of no file");
	record.map.addr = record.map.pgoff = 0xa000;
	notes(&halves, record, 0, "is not asked");
	jp_mapping_halves_free(&halves);
	return check_done();
}
