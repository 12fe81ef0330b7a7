// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workloads/emit/workload.h"

static char folder[PATH_MAX];

const char *jp_folder(void)
{
	char truth[PATH_MAX], *end;

	if (*folder)
		return folder;
	if (!realpath(jp_handshake_setup()->truth, truth)) {
		fprintf(stderr, "jitproof workload: %s: %s\n", jp_handshake_setup()->truth,
			strerror(errno));
		return NULL;
	}
	end = strrchr(truth, '/');
	if (end - truth + sizeof("/files-2147483647") > sizeof(folder)) {
		fprintf(stderr, "jitproof workload: %s: its path is too long\n", truth);
		return NULL;
	}
	snprintf(folder, sizeof(folder), "%.*s/files-%d", (int)(end - truth), truth, getpid());
	if (mkdir(folder, 0755)) {
		fprintf(stderr, "jitproof workload: %s: %s\n", folder, strerror(errno));
		*folder = '\0';
		return NULL;
	}
	return folder;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

void jp_folder_remove(void)
{
	if (*folder)
		nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	*folder = '\0';
}

int jp_folder_copy_program(const char *path)
{
	return jp_folder_copy("/proc/self/exe", path);
}

int jp_folder_copy(const char *program, const char *path)
{
	int from = open(program, O_RDONLY | O_CLOEXEC), ret = 0;
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	ssize_t copied = 1;

	if (from < 0 || to < 0)
		ret = -errno;
	while (!ret && copied) {
		char block[65536];

		copied = read(from, block, sizeof(block));
		if (copied < 0 || write(to, block, copied) != copied)
			ret = errno ? -errno : -EIO;
	}
	if (from >= 0)
		close(from);
	if (to >= 0 && close(to) && !ret)
		ret = -errno;
	return ret;
}
