// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/truth/format.h"

#include <string.h>

/* Multiplies and folds eight bytes at a time, so that a lost word or cache line changes the
 * result. */
uint32_t jp_truth_seal(const struct jp_truth_record *record)
{
	struct jp_truth_record copy = *record;
	uint64_t word[sizeof(copy) / 8], sum = 0x9ddfea08eb382d69;
	uint32_t seal;

	copy.seal = 0;
	memcpy(word, &copy, sizeof(copy));
	for (unsigned i = 0; i < sizeof(copy) / 8; i++) {
		sum = (sum ^ word[i]) * 0xd6e8feb86659fd93;
		sum ^= sum >> 32;
	}
	seal = sum ^ (sum >> 32);
	return seal ? seal : 1;
}
