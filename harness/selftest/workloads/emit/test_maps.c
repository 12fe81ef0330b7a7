// SPDX-License-Identifier: GPL-2.0-only
/* Tests that an error for lack of memory names the limit of mappings if that is the cause. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/selftest/support/check.h"
#include "workloads/emit/maps.h"

/* Largest limit that the test reaches: the kernel needs about 200 bytes for a mapping. */
enum { MOST = 1 << 17 };

TEST(limit_of_mappings)
{
	const long limit = jp_file_number("/proc/sys/vm/max_map_count", 0);
	const size_t size = sysconf(_SC_PAGESIZE);
	char expected[60];
	char *room = mmap(NULL, limit * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *text;

	check(!strcmp(jp_maps_describe_error(ENOMEM), strerror(ENOMEM)) &&
		      !strcmp(jp_maps_describe_error(EPERM), strerror(EPERM)),
	      "other errors have the usual text");
	if (room == MAP_FAILED || limit > MOST) {
		check(true, "limit # SKIP %ld mappings are too many for a test", limit);
		return;
	}
	for (long i = 0; i < limit; i += 2)
		if (mprotect(room + i * size, size, PROT_READ) < 0)
			break;
	check(errno == ENOMEM, "the kernel allows no more mappings: %s", strerror(errno));
	text = jp_maps_describe_error(ENOMEM);
	snprintf(expected, sizeof(expected), "vm.max_map_count is %ld; as root", limit);
	check(strstr(text, expected) && strstr(text, "/proc/self/maps has "), "%s", text);
	munmap(room, limit * size);
}
