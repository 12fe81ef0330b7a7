// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/jit/jitdump_read.h"
#include "harness/selftest/fuzz/fuzz.h"

/* Reads every byte that a record points to, so that ASan detects bytes outside of the file. */
static uint64_t read_all_bytes(const struct jp_jitdump_record *record)
{
	struct jp_jitdump_line line;
	uint64_t sum = 0;
	size_t cursor = 0;

	switch (record->type) {
	case JP_JITDUMP_LOAD:
		sum = strlen(record->load.name);
		for (uint64_t i = 0; i < record->load.size; i++)
			sum += record->load.code[i];
		if (record->load.addr + record->load.size < record->load.addr)
			abort();
		break;
	case JP_JITDUMP_DEBUG_INFO:
		while (jp_jitdump_next_line(record, &cursor, &line))
			sum += strlen(line.file) + 1;
		if (sum < record->debug.count)
			abort();
		break;
	case JP_JITDUMP_UNWINDING_INFO:
		for (uint64_t i = 0; i < record->unwinding.size; i++)
			sum += record->unwinding.eh_frame[i];
		for (uint64_t i = 0; i < record->unwinding.hdr_size; i++)
			sum += record->unwinding.eh_frame_hdr[i];
		break;
	default:
		break;
	}
	return sum;
}

void fuzz_one(const char *path, const unsigned char *bytes, size_t size)
{
	struct jp_error err;
	struct jp_jitdump *dump = jp_jitdump_open(path, -1, &err);
	struct jp_jitdump_record record;
	volatile uint64_t sum = 0;
	uint64_t last = 0;

	while (dump && jp_jitdump_next(dump, &record, &err) > 0) {
		if (record.offset < last || record.offset >= size)
			abort();
		last = record.offset + sizeof(struct jp_jitdump_prefix);
		sum += read_all_bytes(&record);
	}
	(void)sum;
	jp_jitdump_close(dump);
}

const struct fuzz_target fuzz_target = {
	.seeds = (const char *const[]){"harness/selftest/fuzz/corpus/jit.dump",
				       "harness/selftest/fuzz/corpus/every.dump", NULL},
	.rounds = 5000,
	.truncations = 300,
};
