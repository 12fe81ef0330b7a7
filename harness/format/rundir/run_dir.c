// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/rundir/run_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/base/path.h"
#include "harness/base/trusted_path.h"

/* Permissions of created folders, regardless of the umask. Other users must not be able to write:
 * the contents of such a folder would be no evidence, and root refuses to read it. */
enum { FOLDER = 0775 };

static bool is_empty(const char *path)
{
	jp_cleanup_closedir DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return false;
	return dir;
}

/* Creates a folder that no other user can rename: they could replace it by a link while files are
 * written below. */
static int make_named_folder(struct jp_run_dir *dir, const char *path, struct jp_error *err)
{
	jp_cleanup_free char *parent = NULL;
	char real_path[sizeof(dir->path)], *slash;
	struct stat st, current_stat;
	size_t length;
	int ret;

	if (!lstat(path, &st)) {
		if (!S_ISDIR(st.st_mode) || !is_empty(path))
			return jp_fail(err, EEXIST,
				       "%s: exists; expected a new or an empty directory", path);
		ret = jp_trusted_find_folder(path, dir->path, sizeof(dir->path), err);
		if (ret)
			return ret;
		/* Another user may meanwhile have replaced the folder by a link. */
		return !lstat(dir->path, &current_stat) && current_stat.st_dev == st.st_dev &&
				       current_stat.st_ino == st.st_ino
			       ? 0
			       : jp_fail(err, ESTALE, "%s: was replaced by another directory",
					 path);
	}
	parent = strdup(path);
	if (!parent)
		return jp_fail(err, ENOMEM, "%s: out of memory", path);
	for (length = strlen(parent); length > 1 && parent[length - 1] == '/';)
		parent[--length] = '\0';
	slash = strrchr(parent, '/');
	if (slash)
		*slash = '\0';
	ret = jp_trusted_find_folder(!slash            ? "."
				     : slash == parent ? "/"
						       : parent,
				     real_path, sizeof(real_path), err)
		      ?: jp_path_build(dir->path, sizeof(dir->path), err, "%s/%s",
				       strcmp(real_path, "/") ? real_path : "",
				       slash ? slash + 1 : parent);
	if (!ret && mkdir(dir->path, FOLDER))
		ret = jp_fail(err, errno, "%s: %s", path, strerror(errno));
	return ret;
}

/* Creates a temporary folder where other users cannot rename it. */
static int make_temporary(struct jp_run_dir *dir, struct jp_error *err)
{
	const char *tmp = getenv("TMPDIR");
	char parent[sizeof(dir->path)];
	int ret = jp_trusted_find_folder(tmp && *tmp ? tmp : "/tmp", parent, sizeof(parent), err)
			  ?: jp_path_build(dir->path, sizeof(dir->path), err, "%s/jitproof.XXXXXX",
					   strcmp(parent, "/") ? parent : "");

	if (ret)
		return ret;
	return mkdtemp(dir->path) ? 0 : jp_fail(err, errno, "%s: %s", dir->path, strerror(errno));
}

int jp_run_dir_newest(char *path, size_t size, struct jp_error *err)
{
	const char *tmp = getenv("TMPDIR");
	jp_cleanup_closedir DIR *dir = opendir(tmp = tmp && *tmp ? tmp : "/tmp");
	struct timespec newest = {0};
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char name[PATH_MAX], results[PATH_MAX];
		struct stat st;

		/* Other users may create folders in this directory, too. */
		if (strncmp(entry->d_name, "jitproof.", strlen("jitproof.")) != 0 ||
		    jp_path_build(name, sizeof(name), NULL, "%s/%s", tmp, entry->d_name) ||
		    jp_path_build(results, sizeof(results), NULL, "%s/results.jsonl", name) ||
		    lstat(name, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
		    lstat(results, &st))
			continue;
		if (st.st_mtim.tv_sec < newest.tv_sec ||
		    (st.st_mtim.tv_sec == newest.tv_sec && st.st_mtim.tv_nsec < newest.tv_nsec))
			continue;
		newest = st.st_mtim;
		if (jp_path_build(path, size, err, "%s", name))
			return -ENAMETOOLONG;
	}
	return newest.tv_sec ? 0
			     : jp_fail(err, ENOENT,
				       "%s: no run of yours is there: name a run "
				       "directory",
				       tmp);
}

int jp_run_dir_make(struct jp_run_dir *dir, const char *path, struct jp_error *err)
{
	dir->temporary = !path;
	return path ? make_named_folder(dir, path, err) : make_temporary(dir, err);
}

int jp_run_dir_case(const struct jp_run_dir *dir, const char *name, char *path, size_t size,
		    struct jp_error *err)
{
	char *slash;

	if (jp_path_build(path, size, err, "%s/%s", dir->path, name))
		return -ENAMETOOLONG;
	slash = strrchr(path, '/');
	*slash = '\0';
	if (mkdir(path, FOLDER) && errno != EEXIST)
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	*slash = '/';
	if (mkdir(path, FOLDER))
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	return 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	return remove(path);
}

int jp_run_dir_remove(const char *path)
{
	return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) ? -errno : 0;
}

int jp_run_dir_create(const char *dir, const char *name, struct jp_error *err)
{
	char path[4096];
	int fd = jp_path_build(path, sizeof(path), err, "%s/%s", dir, name);

	if (fd)
		return fd;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0664);
	return fd < 0 ? jp_fail(err, errno, "%s: %s", path, strerror(errno)) : fd;
}

int jp_run_dir_write(const char *dir, const char *name, const char *text, struct jp_error *err)
{
	int fd = jp_run_dir_create(dir, name, err), ret;

	if (fd < 0)
		return fd;
	ret = jp_file_write(fd, text, strlen(text));
	if (close(fd) && !ret)
		ret = -errno;
	return ret ? jp_fail(err, -ret, "%s/%s: cannot be written: %s", dir, name, strerror(-ret))
		   : 0;
}

char *jp_run_dir_read(const char *dir, const char *name, size_t *size)
{
	char path[4096];

	/* Another user may have created the file: do not follow a link or wait for a FIFO. */
	return jp_path_build(path, sizeof(path), NULL, "%s/%s", dir, name)
		       ? NULL
		       : jp_file_read_regular(path, 1 << 20, size, NULL);
}
