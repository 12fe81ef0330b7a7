// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/rundir/run_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool empty = dir;

	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			empty = false;
	if (dir)
		closedir(dir);
	return empty;
}

int jp_run_dir_make(struct jp_run_dir *dir, const char *path, struct jp_error *err)
{
	const char *tmp = getenv("TMPDIR");

	dir->temporary = !path;
	if (!path) {
		snprintf(dir->path, sizeof(dir->path), "%s/jitproof.XXXXXX",
			 tmp && *tmp ? tmp : "/tmp");
		if (!mkdtemp(dir->path))
			return jp_fail(err, errno, "%s: %s", dir->path, strerror(errno));
		return 0;
	}
	if (strlen(path) >= sizeof(dir->path))
		return jp_fail(err, ENAMETOOLONG, "%.40s...: too long a path", path);
	strcpy(dir->path, path);
	if (mkdir(path, 0777) == 0 || (errno == EEXIST && is_empty(path)))
		return 0;
	if (errno == EEXIST)
		return jp_fail(err, EEXIST,
			       "%s: is there already; expected a new or an empty directory", path);
	return jp_fail(err, errno, "%s: %s", path, strerror(errno));
}

int jp_run_dir_case(const struct jp_run_dir *dir, const char *name, char *path, size_t size,
		    struct jp_error *err)
{
	char *slash;

	if ((size_t)snprintf(path, size, "%s/%s", dir->path, name) >= size)
		return jp_fail(err, ENAMETOOLONG, "%s/%s: too long a path", dir->path, name);
	slash = strrchr(path, '/');
	*slash = '\0';
	if (mkdir(path, 0777) && errno != EEXIST)
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	*slash = '/';
	if (mkdir(path, 0777))
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	return remove(path);
}

int jp_run_dir_remove(const char *path)
{
	return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) ? -errno : 0;
}

int jp_run_dir_write(const char *dir, const char *name, const char *text, struct jp_error *err)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "wxe");
	if (!file)
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	fputs(text, file);
	if (ferror(file) | fclose(file))
		return jp_fail(err, EIO, "%s: cannot be written", path);
	return 0;
}

char *jp_run_dir_read(const char *dir, const char *name, size_t *size)
{
	char path[4096], *text;
	struct stat status;
	FILE *file;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	/* Others may have made it: no link is followed, no FIFO waited for. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return NULL;
	file = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? fdopen(fd, "r") : NULL;
	if (!file) {
		close(fd);
		errno = EINVAL;
		return NULL;
	}
	text = malloc((1 << 20) + 1);
	*size = text ? fread(text, 1, 1 << 20, file) : 0;
	if (text && (ferror(file) || !feof(file))) {
		free(text);
		text = NULL;
		errno = EFBIG;
	}
	if (text)
		text[*size] = '\0';
	fclose(file);
	return text;
}
