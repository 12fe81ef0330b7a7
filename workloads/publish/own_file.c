// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/publish/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/trusted_path.h"

int jp_create_own_file(const char *path)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	/* jp_open_named_folder() does not follow links that other users made. */
	jp_cleanup_close int folder = jp_open_named_folder(path, (size_t)(name - path));
	int fd, ret;
	struct stat st;

	if (folder < 0) {
		fprintf(stderr, "jitproof workload: %s: %s\n", path, strerror(-folder));
		return folder;
	}
	fd = openat(folder, name, flags, 0600);
	if (fd < 0 && errno == EEXIST && fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (!S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
			fprintf(stderr,
				"jitproof workload: %s: exists, and is not a regular file of this "
				"user, so it is not replaced\n",
				path);
			return -EEXIST;
		}
		if (unlinkat(folder, name, 0) == 0)
			fd = openat(folder, name, flags, 0600);
	}
	if (fd >= 0)
		return fd;
	ret = -errno;
	fprintf(stderr, "jitproof workload: %s: %s\n", path, strerror(-ret));
	return ret;
}
