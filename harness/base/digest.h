/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Returns a digest of @size bytes. @digest: digest of the preceding bytes, or 0. It detects
 * accidental changes (one changed word always changes the digest), but not attacks. Files store
 * digests, so this algorithm must never change. */
uint64_t jp_digest_bytes(uint64_t digest, const void *bytes, size_t size);
