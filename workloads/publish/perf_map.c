// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/base/excuse.h"
#include "harness/base/registry.h"
#include "workloads/emit/publish.h"
#include "workloads/publish/own_file.h"

enum map_fault {
	RIGHT,
	LATE,  /* empty until the process exits, as from an agent that dumps its table at the end */
	EMPTY, /* always empty */
	PARTIAL, /* every second function is missing */
	ENTRIES, /* each line covers only the function's first byte */
	PREFIX,  /* numbers begin with 0x */
	OWNER,   /* the file belongs to another user */
	BEHIND,  /* each line is written only with the next line, as from an unflushed buffer */
	TIER,    /* each line follows two lines for the same address, of older tiers of code */
};
static const char fault_names[] = "late empty partial entries prefix owner behind tier";

enum { NOBODY = 65534 };

static struct {
	int fd;
	enum map_fault fault;
	uint64_t loads;
	FILE *held_lines; /* lines not yet written: all with the fault LATE, the last with BEHIND */
	char *text;
	size_t size;
} map = {.fd = -1};

static void drop_held_lines(void)
{
	if (map.held_lines)
		fclose(map.held_lines);
	free(map.text);
	map.held_lines = NULL;
	map.text = NULL;
}

static int hold_lines(void)
{
	map.held_lines = open_memstream(&map.text, &map.size);
	return map.held_lines ? 0 : -errno;
}

static int map_open(const char *dir, const char *fault)
{
	char path[PATH_MAX];

	/* In a forked child, the held lines belong to the parent. */
	drop_held_lines();
	if (map.fd >= 0)
		close(map.fd);
	map.fault = (enum map_fault)jp_publish_fault(fault_names, fault);
	map.loads = 0;
	/* perf looks only in /tmp. */
	snprintf(path, sizeof(path), "%s/perf-%d.map", dir ? dir : "/tmp", getpid());
	map.fd = jp_create_own_file(path);
	if (map.fd < 0)
		return map.fd;
	if (map.fault == OWNER && fchown(map.fd, NOBODY, NOBODY))
		return -errno;
	return map.fault == LATE ? hold_lines() : 0;
}

static int write_held_lines(void)
{
	int ret = 0;

	if (map.held_lines &&
	    (fflush(map.held_lines) || write(map.fd, map.text, map.size) != (ssize_t)map.size))
		ret = -errno;
	drop_held_lines();
	return ret;
}

static int map_load(const struct jp_published *code)
{
	const char *prefix = map.fault == PREFIX ? "0x" : "";
	const uint64_t size = map.fault == ENTRIES ? 1 : code->size;
	int length = 0;

	if (map.fault == EMPTY || (map.fault == PARTIAL && map.loads++ % 2))
		return 0;
	if (map.fault == BEHIND) {
		length = write_held_lines() ?: hold_lines();
		if (length)
			return length;
	}
	for (int tier = 0; map.fault == TIER && tier < 2; tier++)
		dprintf(map.fd, "%llx %llx tier%d_%s\n", (unsigned long long)code->addr,
			(unsigned long long)size, tier, code->name);
	if (map.held_lines)
		length = fprintf(map.held_lines, "%llx %llx %s\n", (unsigned long long)code->addr,
				 (unsigned long long)size, code->name);
	else
		/* Write each line immediately, so that a killed process has published all its
		 * code. */
		length = dprintf(map.fd, "%s%llx %s%llx %s\n", prefix,
				 (unsigned long long)code->addr, prefix, (unsigned long long)size,
				 code->name);
	return length < 0 ? -errno : 0;
}

static int map_close(void)
{
	int ret = write_held_lines();

	if (close(map.fd) && !ret)
		ret = -errno;
	map.fd = -1;
	return ret;
}

JP_DEFINE(publisher, perf_map) = {
	.name = "map",
	.help = "a perf map, DIR/perf-PID.map; DIR is /tmp, where perf looks",
	.faults = fault_names,
	.open = map_open,
	.load = map_load,
	.close = map_close,
};

/* Excuses for the exceptions that each fault causes (docs/publishing.md). */
static const struct jp_excuse costs[] = {
	{"map:late", "publish=*:late", "load.unnamed names.unnamed", "not-published", "killed",
	 "the map of a killed process stays empty"},
	{"map:behind", "publish=*:behind", "published.absent load.unnamed names.unnamed",
	 "no-line not-published", "killed", "the map of a killed process lacks the last line"},
	{"map:empty", "publish=*:empty", "load.unnamed names.unnamed", "not-published", NULL,
	 "the map has no line"},
	{"map:partial", "publish=*:partial", "published.absent", "no-line", "1/2",
	 "the map lacks every second function"},
	{"map:partial.loads", "publish=*:partial", "load.unnamed", "not-published", "1/2",
	 "the map lacks every second function"},
	{"map:partial.names", "publish=*:partial", "names.unnamed", "not-published", NULL,
	 "the map lacks every second function"},
	{"map:tier", "publish=*:tier", "published.invented", "no-code", "2/3",
	 "two of three lines have a name of no function"},
	{"map:tier.names", "publish=*:tier", "load.wrong names.wrong", "other-name", NULL,
	 "three lines name each function"},
	{"map:entries", "publish=*:entries", "load.unnamed names.unnamed", "not-published", NULL,
	 "a line covers a function's first byte alone"},
};
JP_REGISTER_ROWS(excuse, costs);
