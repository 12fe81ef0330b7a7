// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/named_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/trusted_user.h"

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
