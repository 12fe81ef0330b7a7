// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/trusted_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/number.h"
#include "harness/base/path.h"

enum { TO_GO_ON = O_PATH | O_CLOEXEC };

/* Opens @name in the folder @folder. Follows a symbolic link only if it belongs to a trusted user.
 */
static int open_component(int folder, const char *name)
{
	jp_cleanup_close int next = openat(folder, name, TO_GO_ON | O_NOFOLLOW);
	struct stat st;

	if (next < 0 || fstat(next, &st))
		return -errno;
	if (!S_ISLNK(st.st_mode))
		return jp_steal_fd(&next);
	if (!jp_is_trusted_user(st.st_uid))
		return -ELOOP;
	close(next);
	next = openat(folder, name, TO_GO_ON);
	return next < 0 ? -errno : jp_steal_fd(&next);
}

int jp_open_named_folder(const char *path, size_t length)
{
	const char *const end = path + length;
	jp_cleanup_close int folder = open(length && *path == '/' ? "/" : ".", TO_GO_ON);

	if (folder < 0)
		return -errno;
	for (;;) {
		char name[NAME_MAX + 1];
		size_t size;
		int next;

		path += strspn(path, "/");
		if (path >= end)
			return jp_steal_fd(&folder);
		size = strcspn(path, "/");
		size = size < (size_t)(end - path) ? size : (size_t)(end - path);
		if (size > NAME_MAX)
			return -ENAMETOOLONG;
		snprintf(name, sizeof(name), "%.*s", (int)size, path);
		path += size;
		next = open_component(folder, name);
		if (next < 0)
			return next;
		close(folder);
		folder = next;
	}
}

bool jp_is_trusted_user(uid_t user)
{
	struct stat st;

	if (!user || user == geteuid() || (!stat("/proc/self/exe", &st) && st.st_uid == user))
		return true;
	/* In a namespace without root, root appears as nobody. */
	return !stat("/", &st) && st.st_uid == user;
}

/* Parses one line of mountinfo: "ID PARENT MAJOR:MINOR ROOT POINT ... - TYPE SOURCE OPTIONS". */
static bool parse_server(const char *line, dev_t dev, uid_t *user)
{
	static const char option[] = "user_id=";
	const char *type = strstr(line, " - fuse"), *option_text;
	unsigned int major, minor;
	uint64_t number;

	if (!type || sscanf(line, "%*d %*d %u:%u", &major, &minor) != 2 ||
	    makedev(major, minor) != dev)
		return false;
	option_text = strstr(type, option);
	if (!option_text)
		return false;
	option_text += strlen(option);
	if (!jp_number_take(&option_text, 10, UINT32_MAX, &number))
		return false;
	*user = (uid_t)number;
	return true;
}

bool jp_mount_find_server(dev_t dev, uid_t *user)
{
	jp_cleanup_fclose FILE *file = fopen("/proc/self/mountinfo", "re");
	jp_cleanup_free char *line = NULL;
	bool has_server = false;
	size_t size = 0;

	while (file && !has_server && getline(&line, &size, file) > 0)
		has_server = parse_server(line, dev, user);
	return has_server;
}

/* Returns a text that states why other users can change the file of @st, or NULL if they cannot.
 * @may_be_served: whether a process may serve its file system (FUSE). */
static const char *find_foreign_access(const struct stat *st, bool may_be_served)
{
	bool group = st->st_gid == 0 || st->st_gid == getegid();
	struct stat own;
	uid_t server;

	if (!jp_is_trusted_user(st->st_uid))
		return "belongs to another user";
	if (may_be_served && jp_mount_find_server(st->st_dev, &server) &&
	    !jp_is_trusted_user(server))
		return "lies in a file system that another user serves";
	/* In a sticky folder other users cannot remove or rename our files. */
	if (S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX)
		return NULL;
	if (st->st_mode & S_IWOTH)
		return "can be written to by anyone";
	/* The group of the running program's file is trusted: it could have put any code there. */
	group |= stat("/proc/self/exe", &own) == 0 && st->st_gid == own.st_gid;
	return st->st_mode & S_IWGRP && !group ? "can be written to by a group" : NULL;
}

bool jp_trusted_open(int fd)
{
	struct statfs mount;
	struct stat st;

	if (fstat(fd, &st) || !S_ISDIR(st.st_mode) || st.st_mode & S_IWOTH || fstatfs(fd, &mount))
		return false;
	/* This runs for each file that is opened, so read the slow list of mounts only for FUSE. */
	return !find_foreign_access(&st, mount.f_type == FUSE_SUPER_MAGIC);
}

static bool is_path_of_descriptor(const char *path, int fd)
{
	struct stat st, there;

	return !stat(path, &st) && !fstat(fd, &there) && st.st_dev == there.st_dev &&
	       st.st_ino == there.st_ino;
}

/* Stores in @path_out the absolute path of @path. Fails if a link on the way belongs to another
 * user. */
static int resolve_path(const char *path, char *path_out, size_t size, struct jp_error *err)
{
	jp_cleanup_close int folder = *path ? jp_open_named_folder(path, strlen(path)) : -ENOENT;
	char link[40], real_path[PATH_MAX];
	ssize_t length;

	if (folder == -ELOOP)
		return jp_fail(err, EPERM,
			       "%s is not trusted: another user's symbolic link leads there", path);
	if (folder < 0)
		return jp_fail(err, -folder, "%s: %s", path, strerror(-folder));
	snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
	length = readlink(link, real_path, sizeof(real_path));
	if (length < 0 && errno == ENOENT) /* without /proc the path of @fd is unknown */
		length = realpath(path, real_path) && is_path_of_descriptor(real_path, folder)
				 ? (ssize_t)strlen(real_path)
				 : -1;
	if (length < 0)
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	return jp_path_build(path_out, size, err, "%.*s", (int)length, real_path) ? -ENAMETOOLONG
										  : 0;
}

/* Implements jp_trusted_find_file() and jp_trusted_find_folder(). @type: S_IFREG or S_IFDIR,
 * required of
 * @path itself. */
static int check_path(const char *path, mode_t type, char *path_out, size_t size,
		      struct jp_error *err)
{
	jp_cleanup_free char *real_path = NULL;
	struct stat st;
	int ret = resolve_path(path, path_out, size, err);

	if (ret)
		return ret;
	real_path = strdup(path_out);
	if (!real_path)
		return jp_fail(err, ENOMEM, "%s: out of memory", path);
	for (;; type = S_IFDIR) {
		const char *pos = *real_path ? real_path : "/", *reason;

		if (lstat(pos, &st))
			return jp_fail(err, errno, "%s: %s", pos, strerror(errno));
		if ((st.st_mode & S_IFMT) != type)
			return jp_fail(err, EINVAL, "%s: expected a %s", pos,
				       type == S_IFDIR ? "directory" : "regular file");
		reason = find_foreign_access(&st, true);
		if (reason)
			return jp_fail(err, EPERM, "%s is not trusted: %s %s", path, pos, reason);
		if (!*real_path || !strcmp(real_path, "/"))
			return 0;
		*strrchr(real_path, '/') = '\0';
	}
}

int jp_trusted_find_file(const char *path, char *path_out, size_t size, struct jp_error *err)
{
	return check_path(path, S_IFREG, path_out, size, err);
}

int jp_trusted_find_folder(const char *path, char *path_out, size_t size, struct jp_error *err)
{
	return check_path(path, S_IFDIR, path_out, size, err);
}

int jp_trusted_find_programs(const char *path, char *path_out, size_t size, struct jp_error *err)
{
	int ret = jp_trusted_find_folder(path, path_out, size, err);
	jp_cleanup_close int fd = ret ? -1 : open(path_out, O_PATH | O_CLOEXEC);

	if (!ret && !jp_trusted_open(fd))
		ret = jp_fail(err, EPERM, "%s is not trusted: anyone can put programs there", path);
	return ret;
}
