/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns whether a process without root's rights may read @path, a file that only root may read
 * and that a capture of root refers to: a program, or a jitdump or perf map that has no other hard
 * link (@is_only_file). @head: the file's first @size bytes. For struct jp_readable
 * (harness/base/delegate_open.h). */
bool jp_file_may_be_shown(const char *path, bool is_only_file, const unsigned char *head,
			  size_t size);
