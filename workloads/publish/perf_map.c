// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "harness/base/registry.h"
#include "workloads/emit/publish.h"
#include "workloads/publish/own_file.h"

static int fd = -1;

static int map_open(const char *dir, const char *fault)
{
	char path[PATH_MAX];

	if (fd >= 0)
		close(fd);
	/* The one place where perf looks. */
	snprintf(path, sizeof(path), "%s/perf-%d.map", dir ? dir : "/tmp", getpid());
	fd = jp_own_file(path);
	return fd < 0 ? fd : 0;
}

static int map_load(const struct jp_published *code)
{
	/* At once, not when a buffer is full: who dies has told what it had. */
	int length = dprintf(fd, "%llx %llx %s\n", (unsigned long long)code->addr,
			     (unsigned long long)code->size, code->name);

	return length < 0 ? -errno : 0;
}

static int map_close(void)
{
	int ret = close(fd) ? -errno : 0;

	fd = -1;
	return ret;
}

static const struct jp_publisher map = {
	.name = "map",
	.help = "a perf map, DIR/perf-PID.map; DIR is /tmp, where perf looks",
	.open = map_open,
	.load = map_load,
	.close = map_close,
};
JP_REGISTER(publisher, map);
