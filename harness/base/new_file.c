// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/delegate.h"
#include "harness/base/trusted_path.h"
#include "harness/base/path.h"

/* Most files that jp_new_file_discard_all() can discard. */
enum { MOST = 8 };
/* Length of the suffix of a temporary name in bytes. */
enum { BEHIND = sizeof(".01234567") - 1 };
static struct jp_new_file *open_files[MOST];

static void replace_open_file(struct jp_new_file *from, struct jp_new_file *to)
{
	for (size_t i = 0; i < MOST; i++) {
		if (open_files[i] == from) {
			open_files[i] = to;
			return;
		}
	}
}

static int create_temporary(const struct jp_new_file *file, mode_t mode)
{
	return openat(file->folder, file->temporary,
		      O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

static int link_held_file(const struct jp_new_file *file, const char *name)
{
	char link[40];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
	return linkat(AT_FDCWD, link, file->folder, name, AT_SYMLINK_FOLLOW);
}

static int link_temporary(const struct jp_new_file *file, mode_t none)
{
	(void)none;
	return link_held_file(file, file->temporary);
}

/* Calls @make with a new random name until the name is free, and returns its result. */
static int make_with_own_name(struct jp_new_file *file,
			      int (*make)(const struct jp_new_file *file, mode_t mode), mode_t mode,
			      struct jp_error *err)
{
	uint32_t chance;
	int ret;

	do {
		if (getrandom(&chance, sizeof(chance), 0) != sizeof(chance))
			return jp_fail(err, errno, "getrandom: %s", strerror(errno));
		/* Shorten a name that leaves no space for the suffix. */
		snprintf(file->temporary, sizeof(file->temporary), "%.*s.%08" PRIx32,
			 NAME_MAX - BEHIND, file->name, chance);
		ret = make(file, mode);
	} while (ret < 0 && errno == EEXIST);
	if (ret < 0) {
		*file->temporary = '\0';
		return jp_fail(err, errno, "%s: %s", file->path, strerror(errno));
	}
	return ret;
}

/* Opens a file without a name. Returns -1 if the file needs a name from the start. */
static int open_nameless_file(struct jp_new_file *file, mode_t mode)
{
	int fd = -1;

	/* linkat() can give the file a name later only through /proc. */
	if (!access("/proc/self/fd", X_OK))
		fd = openat(file->folder, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
	if (fd >= 0 && (file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int begin_file(struct jp_new_file *file, const char *path, struct jp_error *err)
{
	struct stat existing;

	*file = (struct jp_new_file){.path = path, .name = jp_path_base(path), .fd = -1};
	file->folder = jp_open_named_folder(path, (size_t)(file->name - path));
	if (file->folder == -ELOOP)
		return jp_fail(err, ELOOP,
			       "%s: another user's symbolic link leads there, and is not followed",
			       path);
	if (file->folder < 0)
		return jp_fail(err, -file->folder, "%s: %s", path, strerror(-file->folder));
	if (*file->name && fstatat(file->folder, file->name, &existing, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : jp_fail(err, errno, "%s: %s", path, strerror(errno));
	if (!*file->name || !S_ISREG(existing.st_mode))
		return jp_fail(err, EINVAL, "%s: expected a regular file, or nothing, to write to",
			       path);
	return 0;
}

static int open_file(struct jp_new_file *file, const char *path, mode_t mode, bool is_nameless,
		     struct jp_error *err)
{
	int fd = begin_file(file, path, err);

	if (!fd) {
		fd = is_nameless ? open_nameless_file(file, mode) : -1;
		if (fd < 0)
			fd = make_with_own_name(file, create_temporary, mode, err);
	}
	if (fd >= 0)
		replace_open_file(NULL, file);
	else
		jp_new_file_discard(file);
	return fd;
}

int jp_new_file_open(struct jp_new_file *file, const char *path, mode_t mode, struct jp_error *err)
{
	return open_file(file, path, mode, true, err);
}

int jp_new_file_create_named(const char *path, mode_t mode, struct jp_error *err)
{
	struct jp_new_file file;
	int fd = open_file(&file, path, mode, false, err);
	int failed = fd < 0 ? fd : jp_new_file_publish(&file, err);

	if (fd >= 0 && failed)
		close(fd);
	return failed ?: fd;
}

void jp_new_file_remove_if_same(const char *path, int fd)
{
	const char *name = jp_path_base(path);
	int folder = jp_open_named_folder(path, (size_t)(name - path));
	struct stat our_stat, existing;

	if (folder < 0)
		return;
	if (!fstat(fd, &our_stat) && !fstatat(folder, name, &existing, AT_SYMLINK_NOFOLLOW) &&
	    existing.st_dev == our_stat.st_dev && existing.st_ino == our_stat.st_ino)
		unlinkat(folder, name, 0);
	close(folder);
}

FILE *jp_new_file_stream(struct jp_new_file *file, const char *path, struct jp_error *err)
{
	int fd = jp_new_file_open(file, path, 0666, err);
	FILE *stream = fd < 0 ? NULL : fdopen(fd, "w");

	if (fd >= 0 && !stream) {
		jp_fail(err, errno, "%s: %s", path, strerror(errno));
		close(fd);
		jp_new_file_discard(file);
	}
	return stream;
}

int jp_new_file_publish(struct jp_new_file *file, struct jp_error *err)
{
	int failed;

	if (jp_is_confined()) {
		/* The waiting process keeps or removes the file; jp_new_file_discard() must not. */
		*file->temporary = '\0';
		return jp_delegate_ask(JP_DELEGATED_KEEP, file->path, err);
	}
	/* If the name is free, link it at once: a kill here leaves no other name. */
	if (file->fd >= 0 && !link_held_file(file, file->name)) {
		jp_new_file_discard(file);
		return 0;
	}
	failed = file->fd < 0 ? 0 : make_with_own_name(file, link_temporary, 0, err);
	if (!failed && renameat(file->folder, file->temporary, file->folder, file->name))
		failed = jp_fail(err, errno, "%s: %s", file->path, strerror(errno));
	if (!failed)
		*file->temporary = '\0';
	jp_new_file_discard(file);
	return failed;
}

int jp_new_file_publish_path(const char *path, struct jp_error *err)
{
	for (size_t i = 0; i < MOST; i++)
		if (open_files[i] && !strcmp(open_files[i]->path, path))
			return jp_new_file_publish(open_files[i], err);
	return jp_fail(err, ENOENT, "%s: no such file is being written", path);
}

static void remove_temporary(struct jp_new_file *file)
{
	if (*file->temporary)
		unlinkat(file->folder, file->temporary, 0);
}

void jp_new_file_discard(struct jp_new_file *file)
{
	int error = errno;

	if (!file->path)
		return;
	remove_temporary(file);
	if (file->fd >= 0)
		close(file->fd);
	if (file->folder >= 0)
		close(file->folder);
	*file = (struct jp_new_file){.path = NULL};
	replace_open_file(file, NULL);
	errno = error;
}

void jp_new_file_discard_all(void)
{
	for (size_t i = 0; i < MOST; i++)
		if (open_files[i])
			remove_temporary(open_files[i]);
}
