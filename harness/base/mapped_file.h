/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "harness/base/error.h"

/*
 * A file mapped for reading. Where others make it shorter meanwhile its pages are gone, and nobody
 * can go on: the process then says so on standard error, drops its unfinished files and ends with
 * JP_EXIT_BROKEN.
 */

/* The @size > 0 bytes of @fd, which messages call @name until the end. NULL and a message. */
const void *jp_mapped_file(int fd, const char *name, uint64_t size, struct jp_error *err);
/* 0, or -ENODATA and a message: @fd has fewer bytes now, and the last page may have lost some
 * without a fault. */
int jp_mapped_file_check(int fd, const char *name, uint64_t size, struct jp_error *err);
void jp_mapped_file_end(const void *map);
