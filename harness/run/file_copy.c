// SPDX-License-Identifier: GPL-2.0-only
#include "harness/run/file_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/base/untrusted_file.h"

/* Copies all data between the holes of the file @in. Returns 0 or -errno. */
static int copy_data(int in, int out, uint64_t size)
{
	off_t end = 0;

	for (;;) {
		off_t start = lseek(in, end, SEEK_DATA);
		int ret;

		if (start < 0 && errno == ENXIO)
			break;
		end = start < 0 ? -1 : lseek(in, start, SEEK_HOLE);
		if (end < 0 || lseek(in, start, SEEK_SET) < 0 || lseek(out, start, SEEK_SET) < 0)
			return -errno;
		ret = jp_file_copy(in, out, (uint64_t)(end - start));
		if (ret)
			return ret;
	}
	return ftruncate(out, (off_t)size) ? -errno : 0;
}

int jp_file_copy_to(const char *from, const char *to, struct jp_error *err)
{
	uint64_t size;
	jp_cleanup_close int in = jp_untrusted_open(from, -1, &size, err);
	jp_cleanup_close int out = -1;
	int ret;

	if (in < 0)
		return in;
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out < 0)
		return jp_fail(err, errno, "%s: %s", to, strerror(errno));
	ret = copy_data(in, out, size);
	return ret ? jp_fail(err, -ret, "%s: cannot be copied: %s", from, strerror(-ret)) : 0;
}
