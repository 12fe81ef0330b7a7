// SPDX-License-Identifier: GPL-2.0-only
/* Tests that a digest depends on each byte, on the size and on the seed, and never changes: files
 * store it. */
#include "harness/base/digest.h"

#include "harness/selftest/support/check.h"

TEST(digest)
{
	unsigned char bytes[99];
	uint64_t digest;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i;
	digest = jp_digest_bytes(0, bytes, sizeof(bytes));
	check(digest == UINT64_C(0x84a99ae0d96267e2),
	      "the digest stored in older files is unchanged: %llx", (unsigned long long)digest);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] ^= 0x80;
		check(jp_digest_bytes(0, bytes, sizeof(bytes)) != digest,
		      "byte %zu is in the digest", i);
		bytes[i] ^= 0x80;
	}
	check(jp_digest_bytes(1, bytes, sizeof(bytes)) != digest, "the digest depends on the seed");
	memset(bytes, 0, sizeof(bytes));
	check(jp_digest_bytes(0, bytes, 9) != jp_digest_bytes(0, bytes, 10),
	      "zeros change the digest");
}
