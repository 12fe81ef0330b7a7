/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A number for @size bytes, and what @digest was made of; 0: nothing yet. It tells alterations
 * (another word always gives another number), not adversaries, and does not change: files hold it.
 */
uint64_t jp_digest(uint64_t digest, const void *bytes, size_t size);
