/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/base/error.h"

/* libzstd's one home. Without libzstd at build time the first call says so. */
struct jp_zstd;
struct jp_zstd *jp_zstd_new(struct jp_error *err);
void jp_zstd_free(struct jp_zstd *zstd);

/*
 * Goes on with the stream: @size bytes of input, whole. *@out (malloc'ed, *@capacity bytes, *@used
 * of them in use) grows as needed, up to @limit. 0, or -EINVAL, -E2BIG or -ENOMEM and a message.
 */
int jp_zstd_more(struct jp_zstd *zstd, const void *in, size_t size, unsigned char **out,
		 size_t *capacity, size_t *used, size_t limit, struct jp_error *err);
