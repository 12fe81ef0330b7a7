// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/delegate_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/number.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"
#include "harness/base/shortage.h"
#include "harness/base/trusted_path.h"
#include "harness/base/untrusted_file.h"

enum { HEAD = 64, TO_LIST = O_RDONLY | O_DIRECTORY | O_CLOEXEC, BELOW = TO_LIST | O_NOFOLLOW };

static int open_named_path(const char *path)
{
	jp_cleanup_close int folder = jp_open_named_folder(path, strlen(path));
	int fd = folder < 0 ? folder : openat(folder, ".", TO_LIST);

	return fd < 0 && folder >= 0 ? -errno : fd;
}

/* Opens folder number @i at @path. A missing folder is no error: it contains nothing to read. A
 * shortage (of descriptors, memory) is an error, because later requests for files in the folder
 * would be refused as if nobody had named it. */
static int open_folder(struct jp_delegate *delegate, size_t i, const char *path,
		       struct jp_error *err)
{
	int failed;

	delegate->folders[i].path = path;
	delegate->folders[i].fd = open_named_path(path);
	failed = delegate->folders[i].fd < 0 ? delegate->folders[i].fd : 0;
	delegate->folders[i].real_path = realpath(path, NULL);
	if (!failed && !delegate->folders[i].real_path)
		failed = -errno;
	return jp_is_shortage(-failed) ? jp_fail(err, -failed, "%s: %s", path, strerror(-failed))
				       : 0;
}

JP_ORDER(compare_by_path, struct jp_readable_file,
	 strcmp(a->path, b->path) ?: jp_compare(a->owner, b->owner));

void jp_readable_sort(struct jp_readable_file *files, size_t count)
{
	jp_sort(files, count, compare_by_path);
}

int jp_delegate_open(struct jp_delegate *delegate, const struct jp_readable *readable,
		     struct jp_error *err)
{
	const char *const paths[JP_DELEGATE_FOLDERS] = {readable->input, readable->folders[0],
							readable->folders[1], readable->folders[2]};
	const bool is_standard = readable->input && strcmp(readable->input, "-") == 0;

	*delegate = (struct jp_delegate){.readable = readable, .input = -1};
	for (size_t i = 0; i < JP_DELEGATE_FOLDERS; i++)
		delegate->folders[i].fd = -1;
	if (!readable->input)
		return 0;
	delegate->input = is_standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
				      : jp_named_input(readable->input, err);
	if (is_standard && delegate->input < 0)
		return jp_fail(err, errno, "(standard input): %s", strerror(errno));
	if (delegate->input < 0)
		return delegate->input;
	for (size_t i = 0; i < JP_DELEGATE_FOLDERS; i++) {
		const int failed = paths[i] && (i || !is_standard)
					   ? open_folder(delegate, i, paths[i], err)
					   : 0;

		if (failed)
			return failed;
	}
	return 0;
}

void jp_delegate_close(struct jp_delegate *delegate)
{
	for (size_t i = 0; i < JP_DELEGATE_FOLDERS; i++) {
		if (delegate->folders[i].fd >= 0)
			close(delegate->folders[i].fd);
		free(delegate->folders[i].real_path);
	}
	if (delegate->input >= 0)
		close(delegate->input);
}

int jp_delegate_input(const struct jp_delegate *delegate, const char *path, struct jp_error *err)
{
	struct stat st;
	int fd;

	if (!delegate->readable->input || strcmp(path, delegate->readable->input) != 0)
		return jp_fail(err, EACCES, "%s: %s", path, strerror(EACCES));
	if (!fstat(delegate->input, &st) && S_ISREG(st.st_mode))
		fd = jp_reopen_descriptor(delegate->input, O_NONBLOCK);
	else if ((fd = fcntl(delegate->input, F_DUPFD_CLOEXEC, 3)) < 0)
		fd = -errno;
	return fd < 0 ? jp_fail(err, -fd, "%s: %s", path, strerror(-fd)) : fd;
}

/* Descends from @folder along @tail. Follows no link, and enters only folders that nobody
 * else can write to: a copied link may lead out of @folder. Returns the descriptor of the last
 * folder, or -errno. @base: the last part of @tail. */
static int open_path_below(int folder, const char *tail, const char **base)
{
	jp_cleanup_close int parent = openat(folder, ".", TO_LIST);
	const char *slash;

	for (; parent >= 0 && (slash = strchr(tail, '/')); tail = slash + 1) {
		char name[NAME_MAX + 1];
		int next;

		if (slash == tail)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(slash - tail), tail);
		if (!jp_trusted_open(parent) || slash - tail > NAME_MAX || !strcmp(name, ".."))
			return -EACCES;
		next = openat(parent, name, BELOW);
		if (next < 0)
			return -errno;
		close(parent);
		parent = next;
	}
	*base = tail;
	if (parent < 0)
		return -errno;
	return jp_trusted_open(parent) && strcmp(tail, "..") ? jp_steal_fd(&parent) : -EACCES;
}

/* Returns the part of @path below @folder, or NULL if @path is not below it or @folder is NULL. */
static const char *skip_folder(const char *path, const char *folder)
{
	size_t length = folder ? strlen(folder) : 0;

	return length && !strncmp(path, folder, length) &&
			       (!path[length] || path[length] == '/' || folder[length - 1] == '/')
		       ? path + length
		       : NULL;
}

/* Opens the parent folder of @path if it is within the input or the further folders. Returns
 * -EACCES if it is in none of them. *@base: the last component of @path. */
static int open_folder_of(const struct jp_delegate *delegate, const char *path, const char **base)
{
	for (size_t i = 0; i < JP_DELEGATE_FOLDERS; i++) {
		const char *tail = skip_folder(path, delegate->folders[i].path)
					   ?: skip_folder(path, delegate->folders[i].real_path);

		if (tail && delegate->folders[i].fd >= 0)
			return open_path_below(delegate->folders[i].fd, tail, base);
	}
	return -EACCES;
}

int jp_delegate_folder(const struct jp_delegate *delegate, const char *path, struct jp_error *err)
{
	const char *base;
	jp_cleanup_close int parent = open_folder_of(delegate, path, &base);
	int fd;

	if (parent < 0)
		return jp_fail(err, -parent, "%s: %s", path, strerror(-parent));
	fd = openat(parent, *base ? base : ".", BELOW);
	return fd < 0 ? jp_fail(err, errno, "%s: %s", path, strerror(errno)) : fd;
}

static bool is_input_owned_by_root(const struct jp_delegate *delegate)
{
	struct stat st;

	return !fstat(delegate->input, &st) && S_ISREG(st.st_mode) && !st.st_uid;
}

int jp_delegate_root(const struct jp_delegate *delegate, const char *pid, struct jp_error *err)
{
	char path[64], own_mounts[64], its_mounts[64];
	ssize_t size, length;
	uint64_t number;
	int fd = -1;

	if (is_input_owned_by_root(delegate) && jp_number(pid, 1, INT32_MAX, &number)) {
		snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)number);
		size = readlink("/proc/self/ns/mnt", own_mounts, sizeof(own_mounts));
		length = readlink(path, its_mounts, sizeof(its_mounts));
		snprintf(path, sizeof(path), "/proc/%d/root", (int)number);
		if (size > 0 && length > 0 &&
		    (size != length || memcmp(own_mounts, its_mounts, (size_t)size)))
			fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	return fd < 0 ? jp_fail(err, ENOENT, "process %s: is not in another mount namespace", pid)
		      : fd;
}

/* Opens a file of a harmless kind for an input that belongs to root: a capture made by root names
 * programs and dumps that only root may read. */
static int open_input_of_root(const struct jp_delegate *delegate, const char *path,
			      struct jp_error *err)
{
	unsigned char head[HEAD];
	uint64_t size;
	struct stat st;
	jp_cleanup_close int fd = -1;
	ssize_t nr_read;

	if (!delegate->readable->harmless || !is_input_owned_by_root(delegate) || *path != '/')
		return jp_fail(err, EACCES, "%s: %s", path, strerror(EACCES));
	fd = jp_untrusted_open(path, -1, &size, err);
	if (fd < 0)
		return fd;
	nr_read = pread(fd, head, sizeof(head), 0);
	if (nr_read < 0 || fstat(fd, &st) ||
	    !delegate->readable->harmless(path, st.st_nlink == 1, head, (size_t)nr_read))
		return jp_fail(err, EACCES,
			       "%s: only root may read it, and it is none of the files that a "
			       "capture names",
			       path);
	return jp_steal_fd(&fd);
}

/* Opens @file. If it has a required owner, refuses a file with several hard links, because another
 * user could have linked it there. */
static int open_readable_file(const struct jp_readable_file *file, struct jp_error *err)
{
	uint64_t size;
	jp_cleanup_close int fd = jp_untrusted_open(file->path, file->owner, &size, err);
	struct stat st;

	if (fd >= 0 && file->owner >= 0 && (fstat(fd, &st) || st.st_nlink != 1))
		return jp_fail(err, EACCES,
			       "%s: has several hard links, so it may belong to another user",
			       file->path);
	return jp_steal_fd(&fd);
}

int jp_delegate_file(const struct jp_delegate *delegate, const char *path, struct jp_error *err)
{
	const struct jp_readable *readable = delegate->readable;
	const char *base;
	jp_cleanup_close int parent = -1;
	uint64_t size;
	size_t i;

	jp_search(i, readable->nr_files, strcmp(readable->files[i].path, path) < 0);
	if (i < readable->nr_files && strcmp(readable->files[i].path, path) == 0)
		return open_readable_file(&readable->files[i], err);
	parent = open_folder_of(delegate, path, &base);
	if (parent == -EACCES)
		return open_input_of_root(delegate, path, err);
	if (parent < 0)
		return jp_fail(err, -parent, "%s: %s", path, strerror(-parent));
	return jp_untrusted_open_at(parent, base, path, -1, &size, err);
}
