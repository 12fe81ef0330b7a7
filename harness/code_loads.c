// SPDX-License-Identifier: GPL-2.0-only
#include "harness/code_loads.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/jitdump_read.h"

struct reading {
	struct jp_code_loads *out;
	size_t room;
	size_t first;      /* of this file */
	uint64_t *indexes; /* the code index of each load, for moves; as many as @room */
};

static int add(struct reading *reading, const struct jp_code_load *load, uint64_t index)
{
	struct jp_code_loads *out = reading->out;

	if (out->count == reading->room) {
		size_t room = reading->room ? 2 * reading->room : 256;
		struct jp_code_load *loads = reallocarray(out->loads, room, sizeof(*loads));
		uint64_t *indexes;

		if (!loads)
			return -ENOMEM;
		out->loads = loads;
		indexes = reallocarray(reading->indexes, room, sizeof(*indexes));
		if (!indexes)
			return -ENOMEM;
		reading->indexes = indexes;
		reading->room = room;
	}
	out->loads[out->count] = *load;
	out->loads[out->count].name = strdup(load->name);
	reading->indexes[out->count] = index;
	return out->loads[out->count].name ? (out->count++, 0) : -ENOMEM;
}

/* The name of the last load of @index in this file: moves come soon after, as a rule. */
static const char *name_of(const struct reading *reading, uint64_t index)
{
	for (size_t i = reading->out->count; i-- > reading->first;)
		if (reading->indexes[i] == index)
			return reading->out->loads[i].name;
	return "";
}

static int take(struct reading *reading, const struct jp_jitdump_record *record)
{
	struct jp_code_load load = {.pid = record->pid, .time = record->time};

	if (record->type == JP_JITDUMP_LOAD) {
		load.addr = record->load.addr;
		load.size = record->load.size;
		load.name = record->load.name;
		return add(reading, &load, record->load.index);
	}
	if (record->type != JP_JITDUMP_MOVE)
		return 0;
	load.addr = record->move.to;
	load.size = record->move.size;
	load.name = name_of(reading, record->move.index);
	return add(reading, &load, record->move.index);
}

static int read_dump(struct reading *reading, const char *path)
{
	struct jp_code_loads *out = reading->out;
	struct jp_jitdump_record record;
	struct jp_error why = {""};
	struct jp_jitdump *dump = jp_jitdump_open(path, -1, &why);
	int more = dump ? 1 : -EINVAL, failed = 0;

	out->dumps++;
	reading->first = out->count;
	while (!failed && more > 0) {
		more = jp_jitdump_next(dump, &record, &why);
		if (more > 0)
			failed = take(reading, &record);
	}
	jp_jitdump_close(dump);
	if (more < 0 && !out->bad++)
		out->why = why;
	return failed;
}

static int by_place(const void *left, const void *right)
{
	const struct jp_code_load *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return (a->time > b->time) - (a->time < b->time);
}

static int is_dump(const struct dirent *entry)
{
	return fnmatch("jit-*.dump", entry->d_name, 0) == 0;
}

int jp_code_loads_read(const char *dir, struct jp_code_loads *loads, struct jp_error *err)
{
	struct reading reading = {.out = loads};
	struct dirent **names;
	int count = scandir(dir, &names, is_dump, alphasort), failed = 0;

	memset(loads, 0, sizeof(*loads));
	if (count < 0)
		return jp_fail(err, errno, "%s: %s", dir, strerror(errno));
	for (int i = 0; i < count; i++) {
		char path[4096];

		if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name) >=
		    sizeof(path))
			failed = -ENAMETOOLONG;
		if (!failed)
			failed = read_dump(&reading, path);
		free(names[i]);
	}
	free(names);
	free(reading.indexes);
	if (failed) {
		jp_code_loads_free(loads);
		return jp_fail(err, -failed, "%s: jitdumps: %s", dir, strerror(-failed));
	}
	if (loads->count)
		qsort(loads->loads, loads->count, sizeof(*loads->loads), by_place);
	return 0;
}

void jp_code_loads_free(struct jp_code_loads *loads)
{
	for (size_t i = 0; i < loads->count; i++)
		free((char *)loads->loads[i].name);
	free(loads->loads);
	memset(loads, 0, sizeof(*loads));
}
