/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "harness/base/error.h"

/* A file mapped for reading. If another process shortens the file, an access to a lost page makes
 * this process print a message, drop unfinished outputs and end with JP_EXIT_BROKEN. */

/* Maps the @size > 0 bytes of @fd. Messages call it @name, which must stay valid. Returns NULL and
 * a message on errors. */
const void *jp_mapped_file(int fd, const char *name, uint64_t size, struct jp_error *err);
/* Returns 0, or -ENODATA and a message if @fd has become shorter. Check this after reading: bytes
 * lost within the last page cause no fault. */
int jp_mapped_file_check(int fd, const char *name, uint64_t size, struct jp_error *err);
void jp_mapped_file_end(const void *map);
