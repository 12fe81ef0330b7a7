// SPDX-License-Identifier: GPL-2.0-only
/* Links by which adapters publish perf maps, from /tmp/perf-PID.map to the file in the case's
 * folder (harness/profiler/adapting/protocol.py). A killed adapter leaves them. */
#include "harness/capture/published_links.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/number.h"
#include "harness/base/path.h"

static bool is_map_name(const char *name)
{
	char digits[16];
	uint64_t pid;
	int end = 0;

	return sscanf(name, "perf-%15[0-9].map%n", digits, &end) == 1 && end && !name[end] &&
	       jp_number(digits, 1, INT32_MAX, &pid);
}

/* Returns whether the link @name was made for @dir: it is ours and leads there. /tmp is sticky, so
 * only root could have changed our link. */
static bool is_ours(int tmp, const char *name, const char *dir)
{
	char expected[4096], target[sizeof(expected)];
	struct stat st;
	ssize_t length;

	if (fstatat(tmp, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISLNK(st.st_mode) ||
	    st.st_uid != geteuid() ||
	    jp_path_build(expected, sizeof(expected), NULL, "%s/%s", dir, name))
		return false;
	length = readlinkat(tmp, name, target, sizeof(target));
	return length == (ssize_t)strlen(expected) && memcmp(target, expected, (size_t)length) == 0;
}

void jp_published_links_remove(const char *dir)
{
	jp_cleanup_closedir DIR *tmp = opendir("/tmp");
	struct dirent *entry;

	while (tmp && (entry = readdir(tmp)))
		if (is_map_name(entry->d_name) && is_ours(dirfd(tmp), entry->d_name, dir))
			unlinkat(dirfd(tmp), entry->d_name, 0);
}
