// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/base/array.h"
#include "harness/base/path.h"
#include "harness/base/progress.h"
#include "harness/base/untrusted_file.h"
#include "harness/format/perfdata/decode.h"
#include "harness/format/perfdata/reader.h"
#include "harness/format/perfdata/records.h"

static int add_deferred(void *context, const struct jp_event *event)
{
	struct jp_perf_deferred *deferred = context;

	return event->type == JP_EVENT_DEFERRED ? jp_perf_deferred_add(deferred, event) : 0;
}

/* Reads the whole file for its deferred chains, since a chain may follow its sample at any time:
 * when the thread returns to user space. */
static int read_deferred(struct jp_perf_reader *reader)
{
	struct jp_perfdata_summary summary;
	struct jp_perf_reader first_pass = {
		.visit = add_deferred,
		.context = &reader->deferred,
		.summary = &summary,
		.err = reader->err,
	};
	int ret = 0;

	reader->deferred_read = true;
	/* A stream can be read only once. */
	if (reader->source.map || reader->nr_parts)
		ret = jp_perf_reader_run(&first_pass, reader->path);
	jp_perf_deferred_sort(&reader->deferred);
	if (ret == -ENODATA && summary.cut_short)
		ret = 0;
	return ret == -ENOMEM ? jp_perf_fail_memory(reader) : ret;
}

static void count_sample(struct jp_perfdata_summary *summary, uint64_t time)
{
	if (!summary->samples++ || time < summary->first_sample)
		summary->first_sample = time;
	if (time > summary->last_sample)
		summary->last_sample = time;
}

/* Reports progress in a large file: the record at offset @offset is read. */
static void show_progress(const struct jp_perf_reader *reader, uint64_t offset)
{
	const uint64_t size = reader->source.size;

	if (!jp_progress_is_due())
		return;
	if (size == UINT64_MAX)
		jp_progress_show("%s: %" PRIu64 " MiB", reader->path, offset >> 20);
	else
		jp_progress_show("%s: %" PRIu64 " of %" PRIu64 " MiB", reader->path, offset >> 20,
				 size >> 20);
}

static int deliver(void *context, const struct jp_pending *pending)
{
	struct jp_perf_reader *reader = context;
	struct jp_event *event = &reader->event;
	const struct jp_perf_layout *layout = &reader->attrs.list[pending->attr].layout;
	const char *expected;
	int ret = 0;

	if (__builtin_expect(layout->deferred && reader->join_deferred && !reader->deferred_read,
			     0))
		ret = read_deferred(reader);
	if (ret)
		return ret;
	show_progress(reader, pending->offset);
	event->record = pending->record;
	event->file_offset = pending->offset;
	event->attr = pending->attr;
	event->asked = &reader->attrs.list[pending->attr].request;
	expected = jp_perf_decode(layout, pending->record, event, &reader->regs);
	if (__builtin_expect(!!expected, 0))
		return jp_perf_fail(reader, pending->offset,
				    "expected %s; found a record of type %u and %u bytes", expected,
				    pending->record->type, pending->record->size);
	switch (event->type) {
	case JP_EVENT_SAMPLE:
		count_sample(reader->summary, event->time);
		if (layout->deferred)
			jp_perf_deferred_join(&reader->deferred, event);
		break;
	case JP_EVENT_LOST:
		reader->summary->lost_records++;
		reader->summary->lost_events += event->lost.lost;
		break;
	case JP_EVENT_LOST_SAMPLES:
		reader->summary->lost_samples += event->lost.lost;
		break;
	default:
		break;
	}
	return reader->visit(reader->context, event);
}

/* A file of a folder that perf record --threads wrote. It stays mapped until all files are read,
 * since records wait in memory for their turn. */
struct jp_perf_part {
	struct jp_perf_source source;
	char path[4096];
};

static int read_file(struct jp_perf_reader *reader)
{
	int ret = jp_perf_read_header(reader);

	if (!ret && reader->opened)
		ret = reader->opened(reader->context);
	return ret ?: jp_perf_read_records(reader);
}

/* Calls @read_events with @part as the source. */
static int read_part(struct jp_perf_reader *reader, struct jp_perf_part *part,
		     int (*read_events)(struct jp_perf_reader *reader))
{
	int ret;

	reader->source = part->source;
	ret = read_events(reader);
	part->source = reader->source;
	reader->source = (struct jp_perf_source){.name = reader->path, .fd = -1};
	/* Each file is compressed separately. */
	jp_zstd_free(reader->zstd);
	reader->zstd = NULL;
	jp_chunk_put(reader->partial_record);
	reader->partial_record = NULL;
	/* Continue with the other files if this one is truncated. */
	return ret == -ENODATA && *reader->truncation.text ? 0 : ret;
}

/* Opens @name in the folder @path. Stores it in *@part, or NULL if it is empty. Returns 0, or
 * -errno and a message; -ENOENT: it does not exist. */
static int open_part(struct jp_perf_reader *reader, const char *path, const char *name,
		     struct jp_perf_part **part)
{
	struct jp_perf_part *made = calloc(1, sizeof(*made)), **added;
	uint64_t size = 0;
	int fd, ret;

	*part = NULL;
	if (!made)
		return jp_perf_fail_memory(reader);
	ret = jp_path_build(made->path, sizeof(made->path), reader->err, "%s/%s", path, name);
	fd = ret ?: jp_untrusted_open(made->path, -1, &size, reader->err);
	if (fd >= 0 && size)
		ret = jp_source_adopt(&made->source, fd, made->path, size, reader->err);
	else if (fd >= 0)
		close(fd);
	if (ret || fd < 0 || !size) {
		free(made);
		return ret ?: fd < 0 ? fd : 0;
	}
	reader->summary->in_parts = true;
	added = jp_array_push(&reader->parts, &reader->nr_parts, &reader->parts_capacity);
	if (!added) {
		jp_source_close(&made->source);
		free(made);
		return jp_perf_fail_memory(reader);
	}
	*added = *part = made;
	return 0;
}

/* Reads a folder that perf record --kcore or --threads wrote: "data" is an ordinary perf.data;
 * "data.0" and so on contain the records of one thread each (docs: perf.data-directory-format.txt
 * in the kernel tree). */
static int read_folder(struct jp_perf_reader *reader, const char *path)
{
	struct jp_perf_part *part;
	char name[32];
	int ret;

	reader->source.name = path;
	ret = open_part(reader, path, "data", &part);
	if (ret == -ENOENT || (!ret && !part))
		return jp_fail(reader->err, EISDIR,
			       "%s: expected a perf.data, or a folder with a file \"data\" as perf "
			       "record --threads writes",
			       path);
	if (!ret)
		ret = read_part(reader, part, read_file);
	for (unsigned int i = 0; !ret; i++) {
		snprintf(name, sizeof(name), "data.%u", i);
		ret = open_part(reader, path, name, &part);
		if (ret == -ENOENT)
			return 0;
		if (part)
			ret = read_part(reader, part, jp_perf_read_records);
	}
	return ret;
}

static void free_reader(struct jp_perf_reader *reader)
{
	jp_rounds_free(&reader->rounds);
	jp_perf_attrs_free(&reader->attrs);
	jp_perf_deferred_free(&reader->deferred);
	jp_zstd_free(reader->zstd);
	jp_chunk_put(reader->partial_record);
	jp_chunk_put(reader->copies);
	jp_source_close(&reader->source);
	for (size_t i = 0; i < reader->nr_parts; i++) {
		jp_source_close(&reader->parts[i]->source);
		free(reader->parts[i]);
	}
	free(reader->parts);
}

/* If the file changed while it was read, reports this instead of any other error. */
static int check_sources(const struct jp_perf_reader *reader)
{
	int ret = jp_source_check(&reader->source, reader->err);

	for (size_t i = 0; !ret && i < reader->nr_parts; i++)
		ret = jp_source_check(&reader->parts[i]->source, reader->err);
	return ret;
}

int jp_perf_reader_run(struct jp_perf_reader *reader, const char *path)
{
	int ret = jp_source_open(&reader->source, path, reader->err);

	*reader->summary = (struct jp_perfdata_summary){.monotonic = true, .counts_lost = true};
	if (ret && ret != -EISDIR)
		return ret;
	reader->path = path;
	reader->rounds.deliver = deliver;
	reader->rounds.context = reader;
	ret = ret ? read_folder(reader, path) : read_file(reader);
	if (!ret || (ret == -ENODATA && *reader->truncation.text))
		ret = jp_rounds_end(&reader->rounds);
	if (reader->rounds.no_memory)
		ret = jp_perf_fail_memory(reader);
	jp_progress_clear();
	ret = check_sources(reader) ?: ret;
	if (!ret && *reader->truncation.text) {
		reader->summary->cut_short = true;
		ret = jp_fail(reader->err, ENODATA, "%s", reader->truncation.text);
	}
	reader->summary->monotonic &= reader->summary->attrs > 0;
	reader->summary->unknown_ids = reader->attrs.unknown_ids;
	reader->summary->nr_behind = reader->rounds.nr_behind;
	free_reader(reader);
	return ret;
}

int jp_perfdata_read(const char *path, jp_event_visit visit, void *context,
		     struct jp_perfdata_summary *summary, struct jp_error *err)
{
	struct jp_perfdata_summary unwanted;
	struct jp_perf_reader reader = {
		.visit = visit,
		.context = context,
		.summary = summary ? summary : &unwanted,
		.err = err,
		.join_deferred = true,
		.report_build_ids = true,
	};

	return jp_perf_reader_run(&reader, path);
}
