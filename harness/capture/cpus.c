// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/capture/session.h"

/* "0-3,8" */
static int parse(const char *text, int *cpus, size_t capacity)
{
	size_t count = 0;

	while (*text && *text != '\n') {
		char *end;
		long first = strtol(text, &end, 10), last = first;

		if (end == text)
			return -EINVAL;
		if (*end == '-') {
			text = end + 1;
			last = strtol(text, &end, 10);
			if (end == text)
				return -EINVAL;
		}
		for (long cpu = first; cpu <= last && count < capacity; cpu++)
			cpus[count++] = (int)cpu;
		text = *end == ',' ? end + 1 : end;
		if (*end && *end != ',' && *end != '\n')
			return -EINVAL;
	}
	return (int)count;
}

int jp_cpus_online(int **cpus, struct jp_error *err)
{
	static const char path[] = "/sys/devices/system/cpu/online";
	long conf = sysconf(_SC_NPROCESSORS_CONF), online = sysconf(_SC_NPROCESSORS_ONLN);
	size_t capacity = (size_t)(conf > online ? conf : online);
	char text[4096];
	FILE *file = fopen(path, "re");
	int count = 0;

	*cpus = calloc(capacity ? capacity : 1, sizeof(**cpus));
	if (!*cpus) {
		if (file)
			fclose(file);
		return jp_fail(err, ENOMEM, "no memory for %zu CPU numbers", capacity);
	}
	if (file) {
		if (fgets(text, sizeof(text), file))
			count = parse(text, *cpus, capacity);
		fclose(file);
	} else {
		/* Without sysfs, as in some containers: they are numbered without a gap then, or
		 * opening an event says ENODEV. */
		for (; count < online; count++)
			(*cpus)[count] = count;
	}
	if (count > 0)
		return count;
	free(*cpus);
	*cpus = NULL;
	return jp_fail(err, EINVAL, "%s: a list of CPUs was expected", path);
}
