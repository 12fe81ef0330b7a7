/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* For struct jp_readable (harness/base/delegate_open.h): of what root alone may read, a capture of
 * root's own leads to programs, jitdumps and perf maps. */
bool jp_harmless(const char *path, bool alone, const unsigned char *head, size_t size);
