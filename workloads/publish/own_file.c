// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/publish/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int jp_own_file(const char *path)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = open(path, flags, 0600), ret;
	struct stat st;

	if (fd < 0 && errno == EEXIST && lstat(path, &st) == 0) {
		if (!S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
			fprintf(stderr,
				"jitproof workload: %s: exists, and is no regular file of ours: "
				"neither followed nor replaced\n",
				path);
			return -EEXIST;
		}
		if (unlink(path) == 0)
			fd = open(path, flags, 0600);
	}
	if (fd >= 0)
		return fd;
	ret = -errno;
	fprintf(stderr, "jitproof workload: %s: %s\n", path, strerror(-ret));
	return ret;
}
