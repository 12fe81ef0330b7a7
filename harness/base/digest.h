/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Returns a digest of @size bytes, continuing @digest (0: new). It detects alterations (one changed
 * word always changes it), not attacks. Files contain it, so it never changes. */
uint64_t jp_digest(uint64_t digest, const void *bytes, size_t size);
