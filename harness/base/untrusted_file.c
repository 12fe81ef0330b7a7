// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/untrusted_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/delegate.h"
#include "harness/base/path.h"
#include "harness/base/sort.h"
#include "harness/base/trusted_path.h"

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
		return jp_fail(err, EPERM, "%s: another user's FIFO; jitproof does not wait for it",
			       path);
	fd = jp_reopen_descriptor(path_fd, S_ISREG(st.st_mode) ? O_NONBLOCK : 0);
	if (fd == -ENOENT && !S_ISFIFO(st.st_mode))
		fd = open_by_name(path_fd, path);
	if (fd == -EWOULDBLOCK)
		return jp_fail(err, EWOULDBLOCK, "%s: another process holds a lease of it", path);
	return fd < 0 ? jp_fail(err, -fd, "%s: %s", path, strerror(-fd)) : fd;
}

static const char *describe_kind(mode_t mode)
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

/* Opens the file of @path_fd (O_PATH), whose status is @st, for reading: through /proc, or, if that
 * is not mounted, by @name in @dir (@name NULL: not possible). */
static int reopen_for_reading(int path_fd, int dir, const char *name, const struct stat *st)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	jp_cleanup_close int fd = -1;
	struct stat reopened;
	char link[40];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	fd = open(link, flags);
	if (fd < 0 && errno == ENOENT && name)
		fd = openat(dir, name, flags | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &reopened))
		return -errno;
	return reopened.st_dev == st->st_dev && reopened.st_ino == st->st_ino ? jp_steal_fd(&fd)
									      : -ESTALE;
}

/* Flags to open a file for inspection: opening a device for reading may have effects. */
enum { LOOK = O_PATH | O_NOFOLLOW | O_CLOEXEC, MOST_RENAMES = 1000 };

/* Returns whether a regular file belongs to the kernel: reading it may have effects, as for
 * /proc/kmsg or tracefs' trace_pipe, or never end. */
static bool is_on_kernel_filesystem(int path_fd)
{
	static const uint32_t magics[] = {
		PROC_SUPER_MAGIC,
		SYSFS_MAGIC,
		TRACEFS_MAGIC,
		DEBUGFS_MAGIC,
		BPF_FS_MAGIC,
		CGROUP_SUPER_MAGIC,
		CGROUP2_SUPER_MAGIC,
		SECURITYFS_MAGIC,
		SELINUX_MAGIC,
		SMACK_MAGIC,
		EFIVARFS_MAGIC,
		PSTOREFS_MAGIC,
		BINFMTFS_MAGIC,
		RDTGROUP_SUPER_MAGIC,
		NSFS_MAGIC,
		XENFS_SUPER_MAGIC,
		0x62656570 /* configfs */,
		0x65735543 /* fusectl */,
		0x19800202 /* mqueue */,
		0x67596969 /* rpc_pipefs */,
		0x6e667364 /* nfsd */,
	};
	struct statfs system;

	if (fstatfs(path_fd, &system))
		return false;
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (magics[i] == (uint32_t)system.f_type)
			return true;
	return false;
}

/* Checks the file of @path_fd (O_PATH; -1: opening failed with errno), which messages call @path,
 * and opens it for reading. @dir, @name: as for reopen_for_reading(). */
static int open_checked(int path_fd, int dir, const char *name, const char *path, int64_t owner,
			uint64_t *size, struct jp_error *err)
{
	struct stat st;
	int fd;

	if (path_fd < 0 || fstat(path_fd, &st))
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	if (S_ISLNK(st.st_mode))
		return jp_fail(
			err, ELOOP,
			"%s: a symbolic link where a regular file was expected: not followed",
			path);
	if (!S_ISREG(st.st_mode))
		return jp_fail(err, EINVAL, "%s: %s where a regular file was expected", path,
			       describe_kind(st.st_mode));
	if (is_on_kernel_filesystem(path_fd))
		return jp_fail(err, EINVAL,
			       "%s: a file of the kernel; expected a file on a disk or in memory",
			       path);
	if (owner >= 0 && st.st_uid != owner)
		return jp_fail(err, EPERM, "%s: belongs to user %u, expected user %lld", path,
			       st.st_uid, (long long)owner);
	fd = reopen_for_reading(path_fd, dir, name, &st);
	if (fd < 0)
		return jp_fail(err, -fd, "%s: %s", path, strerror(-fd));
	*size = st.st_size;
	return fd;
}

int jp_untrusted_open_at(int dir, const char *name, const char *path, int64_t owner, uint64_t *size,
			 struct jp_error *err)
{
	jp_cleanup_close int path_fd = openat(dir, name, LOOK);

	return open_checked(path_fd, dir, name, path, owner, size, err);
}

/* Asks the parent of a confined process (confine.h) to open the file, with the same checks as
 * jp_untrusted_open_at(). */
static int open_through_parent(const char *path, int64_t owner, uint64_t *size,
			       struct jp_error *err)
{
	jp_cleanup_close int fd = jp_delegate_ask(JP_DELEGATED_FILE, path, err);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	if (owner >= 0 && st.st_uid != owner)
		return jp_fail(err, EPERM, "%s: belongs to user %u, expected user %lld", path,
			       st.st_uid, (long long)owner);
	*size = st.st_size;
	return jp_steal_fd(&fd);
}

static int read_path(int fd, char path[PATH_MAX])
{
	char link[40];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, PATH_MAX - 1);
	if (length < 0)
		return -errno;
	path[length] = '\0';
	return 0;
}

static int build_path_below(int dir, const char *name, char path[PATH_MAX])
{
	char parent[PATH_MAX];

	return read_path(dir, parent) ?: jp_path_build(path, PATH_MAX, NULL, "%s/%s", parent, name);
}

int jp_untrusted_open_folder(int dir, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (dir == AT_FDCWD ? 0 : O_NOFOLLOW);
	int fd = openat(dir, name, flags);
	char path[PATH_MAX];

	if (fd >= 0 || errno != EACCES || !jp_is_confined())
		return fd < 0 ? -errno : fd;
	if (dir != AT_FDCWD && build_path_below(dir, name, path))
		return -EACCES;
	return jp_delegate_ask(JP_DELEGATED_FOLDER, dir == AT_FDCWD ? name : path, NULL);
}

static bool is_same_file(int a_fd, int b_fd)
{
	struct stat a, b;

	return !fstat(a_fd, &a) && !fstat(b_fd, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Opens @path_fd for reading through the waiting process, by its path, which may differ in another
 * mount namespace. */
static int reopen_through_parent(int path_fd, int64_t owner, uint64_t *size, struct jp_error *err)
{
	char path[PATH_MAX];
	int failed = read_path(path_fd, path);
	jp_cleanup_close int fd = failed ?: open_through_parent(path, owner, size, err);

	if (failed)
		return jp_fail(err, -failed, "the path of an open file is unknown: %s",
			       strerror(-failed));
	if (fd >= 0 && !is_same_file(fd, path_fd))
		return jp_fail(err, EACCES, "%s: is in another mount namespace and cannot be read",
			       path);
	return jp_steal_fd(&fd);
}

/* Opens @path below @root through the waiting process, if this process has no access. */
static int open_below_through_parent(int root, const char *path, int64_t owner, uint64_t *size,
				     struct jp_error *err)
{
	char full_path[PATH_MAX];
	jp_cleanup_close int parent =
		read_path(root, full_path) ? -1
					   : jp_delegate_ask(JP_DELEGATED_FOLDER, full_path, NULL);

	if (parent < 0 || !is_same_file(parent, root) || build_path_below(root, path, full_path))
		return jp_fail(err, EACCES, "%s: %s", path, strerror(EACCES));
	return open_through_parent(full_path, owner, size, err);
}

/* Opens @path below @root. During renames the kernel cannot decide whether a ".." led out, and must
 * be asked again (openat2(2), EAGAIN). */
static int open_path_below(int root, const char *path)
{
	struct open_how how = {.flags = LOOK, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	int fd = -1;

	for (int i = 0; i < MOST_RENAMES; i++) {
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd;
}

int jp_untrusted_open_in(int root, const char *path, int64_t owner, uint64_t *size,
			 struct jp_error *err)
{
	jp_cleanup_close int path_fd = open_path_below(root, path);
	int fd = open_checked(path_fd, -1, NULL, path, owner, size, err);

	/* EACCES: this process may not enter a folder on the way (seen < 0) or read the file. */
	if (fd != -EACCES || !jp_is_confined())
		return fd;
	return path_fd < 0 ? open_below_through_parent(root, path, owner, size, err)
			   : reopen_through_parent(path_fd, owner, size, err);
}

int jp_untrusted_open(const char *path, int64_t owner, uint64_t *size, struct jp_error *err)
{
	int fd = jp_untrusted_open_at(AT_FDCWD, path, path, owner, size, err);

	return fd == -EACCES && jp_is_confined() ? open_through_parent(path, owner, size, err) : fd;
}

int jp_untrusted_check_exists(const char *path)
{
	struct stat st;
	int fd;

	if (!lstat(path, &st))
		return 0;
	if (errno != EACCES || !jp_is_confined())
		return -errno;
	fd = jp_delegate_ask(JP_DELEGATED_FILE, path, NULL);
	if (fd >= 0)
		close(fd);
	/* Other errors mean that a file exists but has the wrong type, which opening it reports. */
	return fd == -ENOENT || fd == -EACCES ? fd : 0;
}

JP_ORDER(compare_by_name, char *, strcmp(*a, *b));

int jp_untrusted_list(const char *path, struct jp_arguments *names,
		      bool (*is_wanted)(const char *name), struct jp_error *err)
{
	jp_cleanup_close int fd = jp_untrusted_open_folder(AT_FDCWD, path);
	jp_cleanup_closedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir)
		return jp_fail(err, fd < 0 ? -fd : errno, "%s: %s", path,
			       strerror(fd < 0 ? -fd : errno));
	jp_steal_fd(&fd);
	while ((entry = readdir(dir)))
		if (is_wanted(entry->d_name))
			jp_arguments_add(names, "%s", entry->d_name);
	if (names->failed)
		return jp_fail(err, ENOMEM, "%s: out of memory", path);
	jp_sort(names->list, names->count, compare_by_name);
	return 0;
}

int jp_named_open(const char *path, struct jp_error *err)
{
	int fd = jp_delegate_ask(JP_DELEGATED_INPUT, path, NULL);

	if (fd < 0)
		fd = jp_named_input(path, err);
	if (fd == -EACCES && jp_is_confined()) {
		fd = jp_delegate_ask(JP_DELEGATED_FILE, path, err);
		if (fd < 0)
			fd = jp_delegate_ask(JP_DELEGATED_FOLDER, path, NULL);
	}
	return fd;
}

int jp_named_open_regular(const char *path)
{
	jp_cleanup_close int fd = jp_delegate_ask(JP_DELEGATED_INPUT, path, NULL);
	jp_cleanup_close int path_fd = fd < 0 ? open(path, O_PATH | O_CLOEXEC) : -1;
	struct stat st;

	if (fd < 0 && path_fd < 0 && (errno != EACCES || !jp_is_confined()))
		return -errno;
	if (fd < 0 && path_fd < 0)
		fd = jp_delegate_ask(JP_DELEGATED_FILE, path, NULL);
	else if (fd < 0 && !fstat(path_fd, &st) && S_ISREG(st.st_mode))
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	else if (fd < 0)
		return -EINVAL;
	if (fd < 0)
		return fd == -1 ? -errno : fd;
	return !fstat(fd, &st) && S_ISREG(st.st_mode) ? jp_steal_fd(&fd) : -EINVAL;
}
