/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/new_file.h"
#include "harness/repro/repro.h"

/* Writes the archive of what was staged into @file, which is open as @fd, and closes it; it takes
 * its place when it is whole. @adapters: the folder of profilers' adapters. */
int jp_repro_pack(const struct jp_repro *repro, const char *adapters, struct jp_new_file *file,
		  int fd, uint64_t *size, struct jp_error *err);
