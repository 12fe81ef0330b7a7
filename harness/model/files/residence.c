// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/files/residence.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/delegate.h"
#include "harness/base/file.h"

static bool is_in_our_namespace(uint32_t pid)
{
	char path[64], own_mounts[64], its_mounts[64];
	ssize_t size, length;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/ns/mnt", pid);
	size = readlink("/proc/self/ns/mnt", own_mounts, sizeof(own_mounts));
	length = readlink(path, its_mounts, sizeof(its_mounts));
	/* Processes that exited or belong to another user cannot be inspected. */
	return size < 0 || length < 0 ||
	       (size == length && memcmp(own_mounts, its_mounts, size) == 0);
}

/* Returns the last number of the line NStgid of /proc/PID/status, or @pid. */
static uint32_t read_inner_pid(uint32_t pid)
{
	char path[64], text[4096], *line, *last;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	if (jp_file_read_text(path, text, sizeof(text)) <= 0)
		return pid;
	line = strstr(text, "\nNStgid:");
	if (!line)
		return pid;
	line = strtok_r(line + 1, "\n", &last);
	last = strrchr(line, '\t');
	return last ? strtoul(last + 1, NULL, 10) : pid;
}

void jp_residence_read(uint32_t pid, struct jp_residence *residence)
{
	char path[64];

	if (jp_is_confined()) {
		snprintf(path, sizeof(path), "%" PRIu32, pid);
		residence->root = jp_delegate_ask(JP_DELEGATED_ROOT, path, NULL);
	}
	if (residence->root < 0) {
		if (is_in_our_namespace(pid))
			return;
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root", pid);
		residence->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	residence->inner = read_inner_pid(pid);
}
