/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* For struct jp_readable (harness/base/delegate_open.h): returns whether the helper with root's
 * rights may hand out the file @path: a program, or, if only root may read it (@alone), a jitdump
 * or perf map of root's own. @head: its first @size bytes. */
bool jp_harmless(const char *path, bool alone, const unsigned char *head, size_t size);
