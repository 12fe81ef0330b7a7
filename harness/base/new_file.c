// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/delegate.h"
#include "harness/base/path.h"

/* Those that are open; more than these are not dropped by a signal. */
enum { MOST = 8 };
static struct jp_new_file *open_files[MOST];

static void list(struct jp_new_file *from, struct jp_new_file *to)
{
	for (size_t i = 0; i < MOST; i++) {
		if (open_files[i] == from) {
			open_files[i] = to;
			return;
		}
	}
}

int jp_new_file_open(struct jp_new_file *file, const char *path, mode_t mode, struct jp_error *err)
{
	struct stat there;
	uint32_t chance;
	int fd, ret;

	file->path = path;
	*file->temporary = '\0';
	if (!lstat(path, &there) && !S_ISREG(there.st_mode))
		return jp_fail(err, EINVAL, "%s: expected a regular file, or nothing, to write to",
			       path);
	do {
		if (getrandom(&chance, sizeof(chance), 0) != sizeof(chance))
			return jp_fail(err, errno, "getrandom: %s", strerror(errno));
		ret = jp_path_build(file->temporary, sizeof(file->temporary), err, "%s.%08" PRIx32,
				    path, chance);
		if (ret)
			return ret;
		fd = open(file->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			  mode);
	} while (fd < 0 && errno == EEXIST);
	if (fd >= 0) {
		list(NULL, file);
		return fd;
	}
	*file->temporary = '\0';
	return jp_fail(err, errno, "%s: %s", path, strerror(errno));
}

int jp_new_file_keep(struct jp_new_file *file, struct jp_error *err)
{
	int failed = 0;

	if (jp_delegated()) {
		*file->temporary = '\0'; /* kept or not, it is not ours to remove */
		return jp_delegate_ask(JP_DELEGATED_KEEP, file->path, err);
	}
	if (rename(file->temporary, file->path)) {
		failed = jp_fail(err, errno, "%s: %s", file->path, strerror(errno));
		jp_new_file_drop(file);
	}
	*file->temporary = '\0';
	list(file, NULL);
	return failed;
}

int jp_new_file_keep_path(const char *path, struct jp_error *err)
{
	for (size_t i = 0; i < MOST; i++)
		if (open_files[i] && !strcmp(open_files[i]->path, path))
			return jp_new_file_keep(open_files[i], err);
	return jp_fail(err, ENOENT, "%s: is not being written", path);
}

void jp_new_file_drop(struct jp_new_file *file)
{
	int error = errno;

	if (*file->temporary)
		unlink(file->temporary);
	*file->temporary = '\0';
	list(file, NULL);
	errno = error;
}

void jp_new_file_drop_all(void)
{
	for (size_t i = 0; i < MOST; i++)
		if (open_files[i])
			unlink(open_files[i]->temporary);
}
