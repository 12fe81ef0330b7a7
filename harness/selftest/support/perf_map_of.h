/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/cleanup.h"
#include "harness/base/untrusted_file.h"
#include "harness/format/jit/perf_map.h"

/* Reads the perf map at @path, of user @owner or, if -1, anyone. Returns NULL and sets @err on
 * failure. */
__attribute__((unused)) static struct jp_perf_map *read_perf_map(const char *path, int64_t owner,
								 struct jp_error *err)
{
	uint64_t size;
	jp_cleanup_close int fd = jp_untrusted_open(path, owner, &size, err);

	return fd < 0 ? NULL : jp_perf_map_read(fd, path, size, err);
}
