/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/inject/inject_code.h"

/* Opens the jitdump @path below the copied root or this machine's root. Returns like
 * jp_untrusted_open(). */
int jp_inject_open(const struct jp_inject_read *reading, const char *path, int64_t owner,
		   uint64_t *size, struct jp_error *err);
/* Reads the jitdump @path, to which marker number @marker leads, and writes its ELF files. Reports
 * and skips a jitdump that is unreadable or does not belong to user @owner. Returns 0, or -errno
 * and a message if an ELF file could not be written or memory ran out. */
int jp_inject_read_dump(struct jp_inject_dumps *dumps, size_t marker, const char *path,
			uint32_t owner, const struct jp_inject_read *reading, struct jp_error *err);
