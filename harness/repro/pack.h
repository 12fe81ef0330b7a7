/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/new_file.h"
#include "harness/repro/repro.h"

/* Writes the archive of the staged files into @file, open as @fd, and closes it; the file gets its
 * name when it is complete. @adapters: folder of the profilers' adapters. Returns 0, or -errno and
 * a message. */
int jp_repro_pack(const struct jp_repro *repro, const char *adapters, struct jp_new_file *file,
		  int fd, uint64_t *size, struct jp_error *err);
