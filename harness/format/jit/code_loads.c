// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/jit/code_loads.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/map.h"
#include "harness/base/path.h"
#include "harness/base/sort.h"
#include "harness/base/untrusted_file.h"

static int visit_dump(struct jp_jitdump_folder *folder, const char *path, int64_t owner,
		      jp_jitdump_visit visit, void *context)
{
	struct jp_jitdump_record record;
	struct jp_error reason = {""};
	struct jp_jitdump *dump = jp_jitdump_open(path, owner, &reason);
	int has_record = dump ? 1 : -EINVAL, failed = 0;

	folder->dumps[folder->count++] = dump;
	if (dump)
		failed = visit(context, jp_jitdump_header(dump), NULL);
	while (!failed && has_record > 0) {
		has_record = jp_jitdump_next(dump, &record, &reason);
		if (has_record > 0)
			failed = visit(context, jp_jitdump_header(dump), &record);
	}
	if (has_record < 0 && !folder->nr_bad++)
		folder->first_error = reason;
	return failed;
}

static bool is_dump(const char *name)
{
	return fnmatch("jit-*.dump", name, 0) == 0;
}

int jp_jitdump_folder_read(const char *dir, struct jp_jitdump_folder *folder,
			   jp_jitdump_visit visit, void *context, struct jp_error *err)
{
	jp_cleanup_arguments struct jp_arguments names = {0};
	int failed = jp_untrusted_list(dir, &names, is_dump, err);

	memset(folder, 0, sizeof(*folder));
	if (failed)
		return failed;
	folder->dumps = calloc(names.count ?: 1, sizeof(struct jp_jitdump *));
	if (!folder->dumps)
		failed = -ENOMEM;
	for (size_t i = 0; i < names.count && !failed; i++) {
		char path[4096];

		failed = jp_path_build(path, sizeof(path), NULL, "%s/%s", dir, names.list[i])
				 ?: visit_dump(folder, path, -1, visit, context);
	}
	return failed ? jp_fail(err, -failed, "%s: jitdumps: %s", dir, strerror(-failed)) : 0;
}

int jp_jitdump_files_read(char *const *paths, size_t count, int64_t owner,
			  struct jp_jitdump_folder *folder, jp_jitdump_visit visit, void *context,
			  struct jp_error *err)
{
	int failed = 0;

	memset(folder, 0, sizeof(*folder));
	folder->dumps = calloc(count ?: 1, sizeof(struct jp_jitdump *));
	if (!folder->dumps)
		return jp_fail(err, ENOMEM, "jitdumps: out of memory");
	for (size_t i = 0; i < count && !failed; i++)
		failed = visit_dump(folder, paths[i], owner, visit, context);
	return failed ? jp_fail(err, -failed, "jitdumps: %s", strerror(-failed)) : 0;
}

void jp_jitdump_folder_free(struct jp_jitdump_folder *folder)
{
	for (size_t i = 0; i < folder->count; i++)
		jp_jitdump_close(folder->dumps[i]);
	free(folder->dumps);
	memset(folder, 0, sizeof(*folder));
}

struct reading {
	struct jp_code_loads *out;
	size_t capacity;
	/* Code index -> 1 + number of the last LOAD with that index in this file. */
	struct jp_map named;
	uint32_t owner; /* pid in the file's header */
	/* Tables of an UNWINDING_INFO record, which belong to the next LOAD. */
	const unsigned char *eh_frame;
	uint64_t eh_frame_size, mapped;
};

static int add_load(struct reading *reading, const struct jp_code_load *load)
{
	struct jp_code_loads *out = reading->out;
	struct jp_code_load *added = jp_array_push(&out->loads, &out->count, &reading->capacity);

	if (!added)
		return -ENOMEM;
	*added = *load;
	added->order = out->count - 1;
	added->name = strdup(load->name);
	return added->name ? 0 : -ENOMEM;
}

/* Records that the load that was added last has code index @index. */
static int remember_index(struct reading *reading, uint64_t index)
{
	size_t *load = jp_map_at(&reading->named, index, sizeof(*load));

	if (!load)
		return -ENOMEM;
	*load = reading->out->count;
	return 0;
}

static const struct jp_code_load *find_load(const struct reading *reading, uint64_t index)
{
	const size_t *load = jp_map_find(&reading->named, index);

	return load ? &reading->out->loads[*load - 1] : NULL;
}

static int add_record(struct reading *reading, const struct jp_jitdump_record *record)
{
	struct jp_code_load load = {
		.pid = record->pid, .owner = reading->owner, .time = record->time, .name = ""};
	const struct jp_code_load *moved_code;

	if (record->type == JP_JITDUMP_UNWINDING_INFO) {
		reading->eh_frame = record->unwinding.eh_frame;
		reading->eh_frame_size = record->unwinding.size - record->unwinding.hdr_size;
		reading->mapped = record->unwinding.mapped_size;
		return 0;
	}
	if (record->type == JP_JITDUMP_LOAD) {
		load.addr = record->load.addr;
		load.size = record->load.size;
		load.name = record->load.name;
		load.code = record->load.code;
		load.eh_frame = reading->eh_frame_size ? reading->eh_frame : NULL;
		load.eh_frame_size = reading->eh_frame_size;
		load.mapped_size = reading->mapped;
		reading->eh_frame_size = reading->mapped = 0;
		return add_load(reading, &load) ?: remember_index(reading, record->load.index);
	}
	if (record->type != JP_JITDUMP_MOVE)
		return 0;
	load.addr = record->move.new_addr;
	load.size = record->move.size;
	moved_code = find_load(reading, record->move.index);
	if (moved_code) {
		load.name = moved_code->name;
		load.code = moved_code->size == load.size ? moved_code->code : NULL;
		load.eh_frame = moved_code->size == load.size ? moved_code->eh_frame : NULL;
		load.eh_frame_size = load.eh_frame ? moved_code->eh_frame_size : 0;
		load.mapped_size = moved_code->mapped_size;
	}
	return add_load(reading, &load);
}

static int visit_record(void *context, const struct jp_jitdump_header *header,
			const struct jp_jitdump_record *record)
{
	struct reading *reading = context;

	if (record)
		return add_record(reading, record);
	/* UNWINDING_INFO records and code indices are valid only within one file. */
	reading->eh_frame_size = reading->mapped = 0;
	reading->owner = header->pid;
	jp_map_free(&reading->named);
	return 0;
}

JP_ORDER(compare_by_place, struct jp_code_load,
	 jp_compare(a->pid, b->pid)
		 ?: jp_compare(a->addr, b->addr)
		 ?: jp_compare(a->time, b->time));

/* Ends the reading. @failed: its error, or 0. */
static int finish(struct reading *reading, int failed)
{
	struct jp_code_loads *loads = reading->out;

	jp_map_free(&reading->named);
	if (failed)
		jp_code_loads_free(loads);
	else
		jp_sort(loads->loads, loads->count, compare_by_place);
	return failed;
}

int jp_code_loads_read(const char *dir, struct jp_code_loads *loads, struct jp_error *err)
{
	struct reading reading = {.out = loads};

	memset(loads, 0, sizeof(*loads));
	return finish(&reading,
		      jp_jitdump_folder_read(dir, &loads->folder, visit_record, &reading, err));
}

int jp_code_loads_read_files(char *const *paths, size_t count, int64_t owner,
			     struct jp_code_loads *loads, struct jp_error *err)
{
	struct reading reading = {.out = loads};

	memset(loads, 0, sizeof(*loads));
	return finish(&reading, jp_jitdump_files_read(paths, count, owner, &loads->folder,
						      visit_record, &reading, err));
}

void jp_code_loads_free(struct jp_code_loads *loads)
{
	for (size_t i = 0; i < loads->count; i++)
		free((char *)loads->loads[i].name);
	free(loads->loads);
	jp_jitdump_folder_free(&loads->folder);
	memset(loads, 0, sizeof(*loads));
}
