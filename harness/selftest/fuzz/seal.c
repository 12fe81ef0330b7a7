// SPDX-License-Identifier: GPL-2.0-only
/* What blind and guided fuzzing share: torn records alone would be all that a reader sees. */
#include "harness/format/truth/format.h"
#include "harness/selftest/fuzz/fuzz.h"

void fuzz_seal(unsigned char *bytes, size_t size)
{
	struct jp_truth_record record;

	for (size_t at = JP_TRUTH_PAGE; at + sizeof(record) <= size; at += sizeof(record)) {
		memcpy(&record, bytes + at, sizeof(record));
		record.seal = jp_truth_seal(&record);
		memcpy(bytes + at, &record, sizeof(record));
	}
}
