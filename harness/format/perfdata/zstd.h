/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/base/error.h"

/* The only user of libzstd. If built without it, jp_zstd_new() fails with a message. */
struct jp_zstd;
struct jp_zstd *jp_zstd_new(struct jp_error *err);
void jp_zstd_free(struct jp_zstd *zstd);

/* Decompresses the next @size bytes of the stream at @source. *@out (malloc'ed, *@capacity bytes,
 * *@length of them in use) grows as needed, up to @limit. Returns 0, or -EINVAL, -E2BIG or -ENOMEM
 * and a message. */
int jp_zstd_decompress(struct jp_zstd *zstd, const void *source, size_t size, unsigned char **out,
		       size_t *capacity, size_t *length, size_t limit, struct jp_error *err);
