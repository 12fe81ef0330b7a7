// SPDX-License-Identifier: GPL-2.0-only
#include "harness/inject/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/new_file.h"
#include "harness/base/output_folder.h"
#include "harness/base/shortage.h"
#include "harness/base/untrusted_file.h"
#include "harness/format/perfdata/copy.h"
#include "harness/format/perfdata/encode.h"
#include "harness/format/perfdata/read.h"
#include "harness/inject/inject_markers.h"
#include "harness/inject/inject_spaces.h"

bool jp_anon_parse(const char *text, enum jp_anon *anon)
{
	static const char *const names[] = {
		[JP_ANON_KEEP] = "keep", [JP_ANON_STRIP] = "strip", [JP_ANON_CUT] = "cut"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) == 0) {
			*anon = (enum jp_anon)i;
			return true;
		}
	}
	return false;
}

/*
 * Reads the input twice. The first pass collects the mapping records of jitdumps (markers), and the
 * jitdumps are read. The second pass copies the input's records in order of time and inserts a
 * mapping record for each piece of code. Memory holds one round of the input (see
 * perfdata/rounds.h), one jitdump at a time, and the address of each piece of code.
 */
struct jp_injection {
	const struct jp_inject_options *options;
	struct jp_inject_summary *summary;
	struct jp_error *err;
	void (*report)(void *context, const char *line);
	void *context;
	int64_t owner; /* user id of the input's owner */
	struct jp_new_file file;
	int fd; /* descriptor of @file; -1 once the output has taken it over */
	struct jp_perf_reader reader;
	struct jp_perfdata_summary input_summary;
	struct jp_inject_dumps dumps;
	struct jp_time_conv conv;
	struct jp_inject_spaces *spaces;
	struct jp_output *output;
	struct jp_perf_copy *copy;
	size_t next; /* index of the next code to write */
	uint64_t record[JP_PERF_RECORD_MOST / sizeof(uint64_t)];
};

static int fail_for_memory(struct jp_injection *inject)
{
	return jp_fail(inject->err, ENOMEM, "%s: out of memory", inject->options->input);
}

static int find_markers(void *context, const struct jp_event *event)
{
	struct jp_injection *inject = context;

	inject->dumps.events++;
	if (event->type != JP_EVENT_MAP)
		return 0;
	return jp_inject_marker(&inject->dumps, event,
				&inject->reader.attrs.list[event->attr].layout)
		       ? fail_for_memory(inject)
		       : 0;
}

static int find_time_conv(void *context, const unsigned char *bytes, uint64_t size)
{
	struct jp_perf_record record;
	struct jp_injection *inject = context;

	memcpy(&record, bytes, sizeof(record));
	if (record.type == JP_PERF_RECORD_TIME_CONV &&
	    size >= sizeof(record) + 3 * sizeof(uint64_t))
		inject->conv = (struct jp_time_conv){.is_known = true,
						     .shift = jp_load64(bytes + 8),
						     .mult = jp_load64(bytes + 16),
						     .zero = jp_load64(bytes + 24)};
	return 0;
}

/* Writes a mapping record for @code, as the kernel writes it for a mapped file. */
static int put_code(struct jp_injection *inject, const struct jp_loaded_code *code)
{
	const struct jp_code_file *file = &inject->dumps.files[code->file];
	const struct jp_marker *marker = &inject->dumps.markers[code->marker];
	/* The record also covers the unwinding tables after the code, unless it would then hide
	 * other code. */
	const bool tables =
		code->tables && !jp_inject_spaces_alive(inject->spaces, code->pid,
							code->addr + code->size, code->tables);
	const struct jp_event event = {
		.type = JP_EVENT_MAP,
		.misc = JP_PERF_MISC_USER,
		.time = code->time,
		.pid = code->pid,
		.tid = code->pid,
		.cpu = marker->cpu,
		.id = marker->id,
		.map = {.addr = code->addr,
			.len = code->size + (tables ? code->tables : 0),
			.pgoff = code->pgoff,
			.maj = file->maj,
			.min = file->min,
			.ino = file->ino,
			.prot = PROT_READ | PROT_EXEC,
			.flags = MAP_PRIVATE,
			.name = file->path},
	};

	jp_output_put(
		inject->output, inject->record,
		jp_perf_encode(&marker->layout, &event, inject->record, sizeof(inject->record)));
	if (code->moved_from &&
	    jp_inject_spaces_code(inject->spaces, code->pid, code->moved_from, code->size, false))
		return fail_for_memory(inject);
	return jp_inject_spaces_code(inject->spaces, code->pid, code->addr, event.map.len, true)
		       ? fail_for_memory(inject)
		       : 0;
}

/* Writes a mapping record for each code loaded before @time, as in struct jp_loaded_code. Code
 * loaded exactly at @time comes later, after the kernel's records of that time. */
static int put_codes(struct jp_injection *inject, uint64_t time)
{
	while (inject->next < inject->dumps.nr_codes &&
	       inject->dumps.codes[inject->next].time < time) {
		int ret = put_code(inject, &inject->dumps.codes[inject->next++]);

		if (ret)
			return ret;
	}
	return 0;
}

static void put_record(struct jp_injection *inject, const struct jp_event *event)
{
	const struct jp_perf_record *record = event->record;

	jp_output_put(inject->output, record, record->size);
	if (event->type == JP_EVENT_MAP && event->map.prot & PROT_EXEC &&
	    jp_inject_is_anonymous(event))
		inject->summary->anon_after++;
}

/* Writes the anonymous mapping record @event without the ranges in which code is loaded: one record
 * for each remaining range. */
static int put_record_for_each_piece(struct jp_injection *inject, const struct jp_event *event)
{
	const struct jp_perf_record *record = event->record;
	struct jp_inject_piece piece = {0};
	int ret;

	while ((ret = jp_inject_spaces_piece(inject->spaces, event, &piece)) > 0) {
		struct jp_event part = *event;

		memcpy(inject->record, record, record->size);
		jp_perf_encode_range(inject->record, piece.start, piece.end - piece.start,
				     event->map.pgoff + (piece.start - event->map.addr));
		part.record = inject->record;
		put_record(inject, &part);
	}
	return ret ? fail_for_memory(inject) : 0;
}

static int put_map(struct jp_injection *inject, const struct jp_event *event)
{
	const bool is_anonymous = jp_inject_is_anonymous(event),
		   is_executable = event->map.prot & PROT_EXEC;
	const bool hides =
		is_anonymous && inject->options->anon != JP_ANON_KEEP &&
		jp_inject_spaces_alive(inject->spaces, event->pid, event->map.addr, event->map.len);
	int ret = 0;

	inject->summary->anon_before += is_anonymous && is_executable;
	if (hides && inject->options->anon == JP_ANON_STRIP)
		return 0;
	if (hides)
		ret = put_record_for_each_piece(inject, event);
	else
		put_record(inject, event);
	if (ret)
		return ret;
	return jp_inject_spaces_map(inject->spaces, event, hides) ? fail_for_memory(inject) : 0;
}

static int write_event(void *context, const struct jp_event *event)
{
	struct jp_injection *inject = context;
	const uint64_t events = ++inject->dumps.events;
	int ret = put_codes(inject, inject->dumps.timeless ? events : event->time);

	if (ret)
		return ret;
	if (event->type == JP_EVENT_MAP)
		return put_map(inject, event);
	put_record(inject, event);
	if ((event->type == JP_EVENT_FORK || event->type == JP_EVENT_COMM) &&
	    jp_inject_spaces_task(inject->spaces, event))
		return fail_for_memory(inject);
	return 0;
}

static int write_other_record(void *context, const unsigned char *bytes, uint64_t size)
{
	struct jp_injection *inject = context;

	return jp_perf_copy_other(inject->copy, bytes, size) ? fail_for_memory(inject) : 0;
}

static int begin_copy(void *context)
{
	struct jp_injection *inject = context;

	inject->copy = jp_perf_copy_begin(&inject->reader, inject->output, inject->err);
	return inject->copy ? 0 : -EINVAL;
}

static int read_input(struct jp_injection *inject, jp_event_visit visit, int (*opened)(void *),
		      int (*handle_other)(void *, const unsigned char *, uint64_t))
{
	inject->reader = (struct jp_perf_reader){
		.visit = visit,
		.opened = opened,
		.handle_other = handle_other,
		.context = inject,
		.summary = &inject->input_summary,
		.err = inject->err,
	};
	return jp_perf_reader_run(&inject->reader, inject->options->input);
}

static int read_dumps(struct jp_injection *inject)
{
	struct jp_inject_read reading = {
		.jitdumps = inject->options->jitdumps,
		.root = -1,
		.summary = inject->summary,
		.owner = inject->owner,
		.monotonic = inject->input_summary.monotonic,
		.conv = inject->conv,
		.report = inject->report,
		.context = inject->context,
	};
	const char *root = inject->options->root;
	jp_cleanup_close int root_fd = -1;

	if (!inject->dumps.nr_markers)
		return 0;
	if (root && (root_fd = reading.root = jp_untrusted_open_folder(AT_FDCWD, root)) < 0)
		return jp_fail(inject->err, -root_fd,
			       "%s: expected the folder of a copied root: %s", root,
			       strerror(-root_fd));
	return jp_inject_read(&inject->dumps, &reading, inject->err);
}

static int write_output(struct jp_injection *inject)
{
	const char *path = inject->options->output;
	int ret;

	inject->dumps.events = 0;
	inject->output = jp_output_adopt(jp_steal_fd(&inject->fd), path, inject->err);
	ret = inject->output ? read_input(inject, write_event, begin_copy, write_other_record)
			     : -ENOMEM;
	if (!ret)
		ret = put_codes(inject, UINT64_MAX);
	if (!ret && jp_perf_copy_end(inject->copy))
		ret = fail_for_memory(inject);
	if (ret)
		jp_output_abandon(inject->output);
	else
		ret = jp_output_close(inject->output, inject->err);
	ret = ret ?: jp_shortage_describe(inject->err->text, sizeof(inject->err->text));
	return ret ?: jp_new_file_publish(&inject->file, inject->err);
}

/* Rejects an input that is not a regular file, or that is the output. */
static int check_paths(struct jp_injection *inject)
{
	const struct jp_inject_options *options = inject->options;
	struct stat input_stat, out;

	if (stat(options->input, &input_stat))
		return jp_fail(inject->err, errno, "%s: %s", options->input, strerror(errno));
	if (S_ISDIR(input_stat.st_mode))
		return jp_fail(
			inject->err, EISDIR,
			"%s: is a folder (perf record --threads or --switch-output): expected "
			"one file",
			options->input);
	if (!S_ISREG(input_stat.st_mode))
		return jp_fail(inject->err, EINVAL,
			       "%s: expected a regular file, which can be read twice: save "
			       "the output of a pipe to a file first",
			       options->input);
	inject->owner = input_stat.st_uid;
	if (stat(options->output, &out) == 0 && input_stat.st_dev == out.st_dev &&
	    input_stat.st_ino == out.st_ino)
		return jp_fail(inject->err, EINVAL, "%s: input and output are the same file",
			       options->output);
	return 0;
}

static int open_outputs(struct jp_injection *inject)
{
	const char *output = inject->options->output, *given_folder = inject->options->folder;
	jp_cleanup_free char *folder = NULL;
	int ret;

	if (given_folder ? !(folder = strdup(given_folder))
			 : asprintf(&folder, "%s.jit", output) < 0)
		return fail_for_memory(inject);
	inject->fd = jp_new_file_open(&inject->file, output, 0600, inject->err);
	if (inject->fd < 0)
		return inject->fd;
	ret = jp_output_folder_begin(folder, inject->err);
	/* A mapping record must have room for the folder's path and the name of a file in it. */
	if (!ret && strlen(jp_output_folder_path()) > 3900)
		ret = jp_fail(inject->err, ENAMETOOLONG, "%s: %s", folder, strerror(ENAMETOOLONG));
	return ret;
}

struct jp_injection *jp_injection_open(const struct jp_inject_options *options,
				       struct jp_error *err)
{
	struct jp_injection *inject = calloc(1, sizeof(*inject));

	if (!inject) {
		jp_fail(err, ENOMEM, "%s: out of memory", options->input);
		return NULL;
	}
	inject->options = options;
	inject->err = err;
	inject->fd = -1;
	jp_shortage_begin();
	if (!check_paths(inject) && !open_outputs(inject))
		return inject;
	jp_injection_close(inject);
	return NULL;
}

int jp_injection_run(struct jp_injection *inject, struct jp_inject_summary *summary,
		     void (*report)(void *context, const char *line), void *context,
		     struct jp_error *err)
{
	struct jp_inject_summary unwanted;
	int ret;

	inject->err = err;
	inject->summary = summary ? summary : &unwanted;
	*inject->summary = (struct jp_inject_summary){0};
	inject->report = report;
	inject->context = context;
	inject->spaces = jp_inject_spaces_new();
	ret = inject->spaces ? read_input(inject, find_markers, NULL, find_time_conv)
			     : fail_for_memory(inject);
	if (!ret)
		ret = read_dumps(inject);
	for (size_t i = 0; !ret && i < inject->dumps.nr_codes; i++)
		if (jp_inject_spaces_want(inject->spaces, inject->dumps.codes[i].pid))
			ret = fail_for_memory(inject);
	return ret ?: write_output(inject);
}

void jp_injection_close(struct jp_injection *inject)
{
	if (!inject)
		return;
	if (inject->fd >= 0)
		close(inject->fd);
	jp_new_file_discard(&inject->file);
	jp_output_folder_end();
	jp_inject_spaces_free(inject->spaces);
	jp_inject_dumps_free(&inject->dumps);
	jp_perf_copy_free(inject->copy);
	free(inject);
}
