// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/base/trusted_path.h"
#include "workloads/emit/noexec.h"
#include "workloads/emit/workload.h"

static char folder[PATH_MAX];

/* Returns whether no other user can replace files in the directory of @path. If another user can,
 * prints the reason to stderr. */
static bool has_trusted_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX], real_path[PATH_MAX];
	struct jp_error err;

	snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 1,
		 slash ? path : ".");
	if (!jp_trusted_find_folder(*parent ? parent : "/", real_path, sizeof(real_path), &err))
		return true;
	fprintf(stderr, "jitproof workload: %s\n", err.text);
	return false;
}

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
	*end = '\0';
	if (jp_noexec_skip_workload(*truth ? truth : "/"))
		return NULL;
	snprintf(folder, sizeof(folder), "%.*s/files-%d", (int)(end - truth), truth, getpid());
	if (has_trusted_parent(folder)) {
		if (!mkdir(folder, 0755))
			return folder;
		fprintf(stderr, "jitproof workload: %s: %s\n", folder, strerror(errno));
	}
	*folder = '\0';
	return NULL;
}

int jp_folder_path(char path[JP_FOLDER_PATH], const char *name)
{
	if (!jp_folder())
		return -EIO;
	snprintf(path, JP_FOLDER_PATH, "%.4000s/%s", folder, name);
	return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *position)
{
	return remove(path);
}

void jp_folder_remove(void)
{
	if (*folder)
		nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	*folder = '\0';
}

int jp_memfd_copy(const char *path, const char *name, char copy[JP_FOLDER_PATH])
{
	/* Without MFD_EXEC, which is new in v6.3, the sysctl vm.memfd_noexec forbids to execute. */
	enum { MEMFD_EXEC = 16 };
	jp_cleanup_close int input = open(path, O_RDONLY | O_CLOEXEC);
	int output = memfd_create(name, MFD_CLOEXEC | MEMFD_EXEC);

	if (output < 0 && errno == EINVAL)
		output = memfd_create(name, MFD_CLOEXEC);
	if (input < 0 || output < 0)
		return -errno;
	snprintf(copy, JP_FOLDER_PATH, "/proc/self/fd/%d", output);
	return jp_file_copy(input, output, UINT64_MAX);
}

int jp_folder_copy(const char *program, const char *path)
{
	jp_cleanup_close int input = -1, output = -1;
	int ret;

	if (!has_trusted_parent(path))
		return -EPERM;
	input = open(program, O_RDONLY | O_CLOEXEC);
	output = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	ret = input < 0 || output < 0 ? -errno : jp_file_copy(input, output, UINT64_MAX);
	return output >= 0 && close(jp_steal_fd(&output)) && !ret ? -errno : ret;
}
