// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/jit/code_loads.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/format/jit/jitdump_read.h"

struct reading {
	struct jp_code_loads *out;
	size_t capacity;
	void *named;                   /* of this file: a tree of struct named */
	const unsigned char *eh_frame; /* of the next LOAD */
	uint64_t eh_frame_size;
};

/* The load that had a code index last: what a move of it is called. */
struct named {
	uint64_t index;
	size_t load;
};

static int by_index(const void *left, const void *right)
{
	const struct named *a = left, *b = right;

	return (a->index > b->index) - (a->index < b->index);
}

static int add(struct reading *reading, const struct jp_code_load *load)
{
	struct jp_code_loads *out = reading->out;

	if (out->count == reading->capacity) {
		size_t capacity = reading->capacity ? 2 * reading->capacity : 256;
		struct jp_code_load *loads = reallocarray(out->loads, capacity, sizeof(*loads));
		if (!loads)
			return -ENOMEM;
		out->loads = loads;
		reading->capacity = capacity;
	}
	out->loads[out->count] = *load;
	out->loads[out->count].name = strdup(load->name);
	return out->loads[out->count].name ? (out->count++, 0) : -ENOMEM;
}

/* The load that was added last has @index. */
static int name_it(struct reading *reading, uint64_t index)
{
	struct named *fresh = malloc(sizeof(*fresh)), **found;

	if (!fresh)
		return -ENOMEM;
	*fresh = (struct named){index, reading->out->count - 1};
	found = tsearch(fresh, &reading->named, by_index);
	if (found && *found == fresh)
		return 0;
	if (found)
		(*found)->load = fresh->load;
	free(fresh);
	return found ? 0 : -ENOMEM;
}

/* The load that was moved, or NULL. */
static const struct jp_code_load *load_of(const struct reading *reading, uint64_t index)
{
	struct named key = {.index = index}, **found = tfind(&key, &reading->named, by_index);

	return found ? &reading->out->loads[(*found)->load] : NULL;
}

static int take(struct reading *reading, const struct jp_jitdump_record *record)
{
	struct jp_code_load load = {.pid = record->pid, .time = record->time, .name = ""};
	const struct jp_code_load *moved;

	if (record->type == JP_JITDUMP_UNWINDING_INFO) {
		reading->eh_frame = record->unwinding.eh_frame;
		reading->eh_frame_size = record->unwinding.size - record->unwinding.hdr_size;
		return 0;
	}
	if (record->type == JP_JITDUMP_LOAD) {
		load.addr = record->load.addr;
		load.size = record->load.size;
		load.name = record->load.name;
		load.code = record->load.code;
		load.eh_frame = reading->eh_frame_size ? reading->eh_frame : NULL;
		load.eh_frame_size = reading->eh_frame_size;
		reading->eh_frame_size = 0;
		return add(reading, &load) ?: name_it(reading, record->load.index);
	}
	if (record->type != JP_JITDUMP_MOVE)
		return 0;
	load.addr = record->move.to;
	load.size = record->move.size;
	moved = load_of(reading, record->move.index);
	if (moved) {
		load.name = moved->name;
		load.code = moved->size == load.size ? moved->code : NULL;
		load.eh_frame = moved->size == load.size ? moved->eh_frame : NULL;
		load.eh_frame_size = load.eh_frame ? moved->eh_frame_size : 0;
	}
	return add(reading, &load);
}

static int read_dump(struct reading *reading, const char *path)
{
	struct jp_code_loads *out = reading->out;
	struct jp_jitdump_record record;
	struct jp_error why = {""};
	struct jp_jitdump *dump = jp_jitdump_open(path, -1, &why);
	int more = dump ? 1 : -EINVAL, failed = 0;

	reading->eh_frame_size = 0;
	out->kept[out->dumps++] = dump;
	while (!failed && more > 0) {
		more = jp_jitdump_next(dump, &record, &why);
		if (more > 0)
			failed = take(reading, &record);
	}
	tdestroy(reading->named, free);
	reading->named = NULL;
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
	loads->kept = calloc((size_t)count + 1, sizeof(struct jp_jitdump *));
	if (!loads->kept)
		failed = -ENOMEM;
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
	for (size_t i = 0; i < loads->dumps; i++)
		jp_jitdump_close(loads->kept[i]);
	free(loads->kept);
	memset(loads, 0, sizeof(*loads));
}
