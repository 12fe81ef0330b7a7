// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/mapped_file.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "harness/base/lost_page.h"
#include "harness/base/new_file.h"

const void *jp_mapped_file(int fd, const char *name, uint64_t size, struct jp_error *err)
{
	const struct jp_lost_page lost = {.name = name,
					  .trouble =
						  "became shorter or unreadable while it was read",
					  .leave = jp_new_file_discard_all};
	void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	int failed = map == MAP_FAILED ? -errno : jp_lost_page_watch(map, size, &lost);

	if (!failed)
		return map;
	if (map != MAP_FAILED)
		munmap(map, size);
	jp_fail(err, -failed, "%s: cannot map %llu bytes: %s", name, (unsigned long long)size,
		strerror(-failed));
	return NULL;
}

int jp_mapped_file_check(int fd, const char *name, uint64_t size, struct jp_error *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return jp_fail(err, errno, "%s: %s", name, strerror(errno));
	if ((uint64_t)st.st_size >= size)
		return 0;
	return jp_fail(err, ENODATA,
		       "%s: became shorter while it was read: from %llu bytes to %llu", name,
		       (unsigned long long)size, (unsigned long long)st.st_size);
}

void jp_mapped_file_end(const void *map)
{
	const size_t size = jp_lost_page_end(map);

	if (size)
		munmap((void *)map, size);
}
