/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/cleanup.h"
#include "harness/base/untrusted_file.h"
#include "harness/format/jit/perf_map.h"

/* The perf map at @path; NULL and a message. */
__attribute__((unused)) static struct jp_perf_map *perf_map_of(const char *path, int64_t owner,
							       struct jp_error *err)
{
	uint64_t size;
	jp_cleanup_close int fd = jp_untrusted_open(path, owner, &size, err);

	return fd < 0 ? NULL : jp_perf_map_read(fd, path, size, err);
}
