// SPDX-License-Identifier: GPL-2.0-only
/* Corrects the seals of a fuzzed truth, for fuzz.c and guided.c: readers skip unsealed records. */
#include "harness/format/truth/format.h"
#include "harness/selftest/fuzz/fuzz.h"

void fuzz_seal(unsigned char *bytes, size_t size)
{
	struct jp_truth_record record;

	for (size_t offset = JP_TRUTH_PAGE; offset + sizeof(record) <= size;
	     offset += sizeof(record)) {
		memcpy(&record, bytes + offset, sizeof(record));
		record.seal = jp_truth_seal(&record);
		memcpy(bytes + offset, &record, sizeof(record));
	}
}
