// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/untrusted_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"

static const char *kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	default:
		return "a device";
	}
}

int jp_untrusted_open(const char *path, int64_t owner, uint64_t *size, struct jp_error *err)
{
	jp_cleanup_close int fd =
		open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ELOOP)
		return jp_fail(
			err, ELOOP,
			"%s: a symbolic link where a regular file was expected: not followed",
			path);
	if (fd < 0 || fstat(fd, &st))
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return jp_fail(err, EINVAL, "%s: %s where a regular file was expected", path,
			       kind_of(st.st_mode));
	if (owner >= 0 && st.st_uid != owner)
		return jp_fail(err, EPERM, "%s: belongs to user %u, expected user %lld", path,
			       st.st_uid, (long long)owner);
	*size = st.st_size;
	return jp_steal_fd(&fd);
}
