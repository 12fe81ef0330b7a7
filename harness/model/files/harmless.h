/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns whether a confined process may read the file @path, which only root may read and which a
 * capture that belongs to root names: a program, or a jitdump or perf map without another hard link
 * (@alone). @head: the file's first @size bytes. For struct jp_readable
 * (harness/base/delegate_open.h). */
bool jp_harmless(const char *path, bool alone, const unsigned char *head, size_t size);
