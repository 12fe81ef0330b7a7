// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/named_input.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "harness/base/cleanup.h"
#include "harness/base/delegate.h"
#include "harness/base/trusted_user.h"

int jp_reopen_descriptor(int fd, int flags)
{
	char proc_path[40];

	snprintf(proc_path, sizeof(proc_path), "/proc/self/fd/%d", fd);
	fd = open(proc_path, O_RDONLY | O_CLOEXEC | flags);
	return fd < 0 ? -errno : fd;
}

/* Opens the file of @path_fd for reading by its @path, without /proc. Returns -ESTALE if the path
 * now leads to another file. */
static int open_by_name(int path_fd, const char *path)
{
	jp_cleanup_close int fd = -1;
	struct stat old_stat, current_stat;

	if (fstat(path_fd, &old_stat))
		return -errno;
	fd = S_ISDIR(old_stat.st_mode) ? openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
				       : open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &current_stat))
		return -errno;
	return current_stat.st_dev == old_stat.st_dev && current_stat.st_ino == old_stat.st_ino
		       ? jp_steal_fd(&fd)
		       : -ESTALE;
}

/* Opens a file, a folder or a pipe. Refuses devices, since opening one may have effects, and FIFOs
 * of other users, which could block for any time. A confined process may run as nobody, whose FIFOs
 * are anyone's. */
int jp_named_input(const char *path, struct jp_error *err)
{
	jp_cleanup_close int path_fd = open(path, O_PATH | O_CLOEXEC);
	struct statfs system;
	struct stat st;
	int fd;

	if (path_fd < 0 || fstat(path_fd, &st))
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISFIFO(st.st_mode))
		return jp_fail(err, EINVAL, "%s: expected a file, a folder or a pipe", path);
	if (S_ISFIFO(st.st_mode) && (jp_is_confined() || !jp_is_trusted_user(st.st_uid)) &&
	    (fstatfs(path_fd, &system) || system.f_type != PIPEFS_MAGIC))
		return jp_fail(err, EPERM, "%s: another user's FIFO, which is not waited for",
			       path);
	fd = jp_reopen_descriptor(path_fd, S_ISREG(st.st_mode) ? O_NONBLOCK : 0);
	if (fd == -ENOENT && !S_ISFIFO(st.st_mode))
		fd = open_by_name(path_fd, path);
	if (fd == -EWOULDBLOCK)
		return jp_fail(err, EWOULDBLOCK, "%s: another process holds a lease of it", path);
	return fd < 0 ? jp_fail(err, -fd, "%s: %s", path, strerror(-fd)) : fd;
}
