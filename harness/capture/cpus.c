// SPDX-License-Identifier: GPL-2.0-only
#include "harness/capture/cpus.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/base/number.h"

/* Parses a list such as "0-3,8". Returns the number of CPUs or -EINVAL. */
static int parse_cpus(const char *text, int *cpus, size_t capacity)
{
	size_t count = 0;

	while (*text && *text != '\n') {
		uint64_t first, last;

		if (!jp_number_take(&text, 10, INT32_MAX, &first))
			return -EINVAL;
		last = first;
		if (*text == '-') {
			text++;
			if (!jp_number_take(&text, 10, INT32_MAX, &last))
				return -EINVAL;
		}
		for (uint64_t cpu = first; cpu <= last && count < capacity; cpu++)
			cpus[count++] = (int)cpu;
		if (*text && *text != ',' && *text != '\n')
			return -EINVAL;
		text += *text == ',';
	}
	return (int)count;
}

int jp_cpus_online(int **cpus, struct jp_error *err)
{
	static const char path[] = "/sys/devices/system/cpu/online";
	long conf = sysconf(_SC_NPROCESSORS_CONF), online = sysconf(_SC_NPROCESSORS_ONLN);
	size_t capacity = (size_t)(conf > online ? conf : online);
	jp_cleanup_free int *list = calloc(capacity ? capacity : 1, sizeof(*list));
	char text[4096];
	int count = 0;

	if (!list)
		return jp_fail(err, ENOMEM, "out of memory for %zu CPU numbers", capacity);
	if (jp_file_read_text(path, text, sizeof(text)) >= 0) {
		count = parse_cpus(text, list, capacity);
	} else {
		/* Without sysfs, as in some containers: assume numbers without gaps; otherwise
		 * opening an event fails with ENODEV. */
		for (; count < online; count++)
			list[count] = count;
	}
	if (count <= 0)
		return jp_fail(err, EINVAL, "%s: expected a list of CPUs", path);
	*cpus = jp_steal(&list);
	return count;
}
