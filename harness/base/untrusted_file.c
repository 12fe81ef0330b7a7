// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/untrusted_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

/* What @seen (O_PATH) is, for reading; without /proc by its @path again (NULL: it has none). */
static int reopen(int seen, const char *path, const struct stat *st)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	jp_cleanup_close int fd = -1;
	struct stat again;
	char link[40];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", seen);
	fd = open(link, flags);
	if (fd < 0 && errno == ENOENT && path)
		fd = open(path, flags | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &again))
		return -errno;
	return again.st_dev == st->st_dev && again.st_ino == st->st_ino ? jp_steal_fd(&fd)
									: -ESTALE;
}

/* Files are looked at first: to open a device may do something. */
enum { LOOK = O_PATH | O_NOFOLLOW | O_CLOEXEC };

/* @seen (-1: errno says why) is what lies at @path; @again: that leads there from here. */
static int open_seen(int seen, const char *path, bool again, int64_t owner, uint64_t *size,
		     struct jp_error *err)
{
	struct stat st;
	int fd;

	if (seen < 0 || fstat(seen, &st))
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	if (S_ISLNK(st.st_mode))
		return jp_fail(
			err, ELOOP,
			"%s: a symbolic link where a regular file was expected: not followed",
			path);
	if (!S_ISREG(st.st_mode))
		return jp_fail(err, EINVAL, "%s: %s where a regular file was expected", path,
			       kind_of(st.st_mode));
	if (owner >= 0 && st.st_uid != owner)
		return jp_fail(err, EPERM, "%s: belongs to user %u, expected user %lld", path,
			       st.st_uid, (long long)owner);
	fd = reopen(seen, again ? path : NULL, &st);
	if (fd < 0)
		return jp_fail(err, -fd, "%s: %s", path, strerror(-fd));
	*size = st.st_size;
	return fd;
}

int jp_untrusted_open(const char *path, int64_t owner, uint64_t *size, struct jp_error *err)
{
	jp_cleanup_close int seen = open(path, LOOK);

	return open_seen(seen, path, true, owner, size, err);
}

int jp_untrusted_open_in(int root, const char *path, int64_t owner, uint64_t *size,
			 struct jp_error *err)
{
	struct open_how how = {.flags = LOOK, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	jp_cleanup_close int seen = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	return open_seen(seen, path, false, owner, size, err);
}
