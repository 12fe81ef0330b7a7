// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "harness/jitdump_read.h"
#include "harness/selftest/fuzz.h"

static const char *const dumps[] = {"harness/selftest/corpus/every.dump", NULL};

static volatile unsigned int sum; /* or nothing would be read */

/* What a record points to must be there. */
static void touch(const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sum += ((const unsigned char *)bytes)[i];
}

static void read_record(const struct jp_jitdump_record *record)
{
	struct jp_jitdump_line line;
	size_t at = 0;

	switch (record->type) {
	case JP_JITDUMP_LOAD:
		touch(record->load.name, strlen(record->load.name));
		touch(record->load.code, record->load.size);
		break;
	case JP_JITDUMP_DEBUG_INFO:
		while (jp_jitdump_next_line(record, &at, &line))
			touch(line.file, strlen(line.file));
		break;
	case JP_JITDUMP_UNWINDING_INFO:
		if (record->unwinding.hdr_size > record->unwinding.size)
			abort();
		touch(record->unwinding.eh_frame,
		      record->unwinding.size - record->unwinding.hdr_size);
		touch(record->unwinding.eh_frame_hdr, record->unwinding.hdr_size);
		break;
	default:
		break;
	}
}

void fuzz_one(const char *path, const unsigned char *bytes, size_t size)
{
	struct jp_jitdump_record record;
	struct jp_error err;
	struct jp_jitdump *dump = jp_jitdump_open(path, -1, &err);

	if (!dump)
		return;
	while (jp_jitdump_next(dump, &record, &err) > 0)
		read_record(&record);
	jp_jitdump_close(dump);
}

const struct fuzz_target fuzz_target = {
	.seeds = dumps,
	.rounds = 10000,
	.truncations = 500,
};
