// SPDX-License-Identifier: GPL-2.0-only
/* A digest tells each byte, their number and their order, and stays the same in files. */
#include "harness/base/digest.h"

#include <string.h>

#include "harness/selftest/support/check.h"

int main(void)
{
	unsigned char bytes[99];
	uint64_t digest;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i;
	digest = jp_digest(0, bytes, sizeof(bytes));
	check(digest == UINT64_C(0x84a99ae0d96267e2), "as it was written before: %llx",
	      (unsigned long long)digest);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] ^= 0x80;
		check(jp_digest(0, bytes, sizeof(bytes)) != digest, "byte %zu", i);
		bytes[i] ^= 0x80;
	}
	check(jp_digest(1, bytes, sizeof(bytes)) != digest, "what came before");
	memset(bytes, 0, sizeof(bytes));
	check(jp_digest(0, bytes, 9) != jp_digest(0, bytes, 10), "how many zeros");
	return check_done();
}
