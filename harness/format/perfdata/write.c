// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/write.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/array.h"
#include "harness/base/file.h"
#include "harness/base/output.h"
#include "harness/format/perfdata/format.h"

enum {
	EVENTS = 4,
	ATTR_SIZE = JP_PERF_ATTR_SIZE_WRITTEN,
};

struct file_attr {
	unsigned char attr[ATTR_SIZE];
	struct jp_perf_section ids;
};

struct event {
	unsigned char attr[ATTR_SIZE];
	char *name;
	uint64_t *ids;
	size_t nr_ids, capacity;
};

struct jp_perfdata_writer {
	struct jp_output *output;
	struct event events[EVENTS];
	unsigned int nr_events;
	uint64_t data; /* offset of the first record */
};

void jp_perfdata_put(struct jp_perfdata_writer *writer, const void *records, size_t size)
{
	jp_output_put(writer->output, records, size);
}

void jp_perfdata_round(struct jp_perfdata_writer *writer)
{
	struct jp_perf_record round = {
		.type = JP_PERF_RECORD_FINISHED_ROUND,
		.size = sizeof(round),
	};

	jp_perfdata_put(writer, &round, sizeof(round));
	/* Flush at the end of a round: if the writer is killed, the file can be read up to here. */
	jp_output_flush(writer->output);
}

int jp_perfdata_error(const struct jp_perfdata_writer *writer)
{
	return jp_output_error(writer->output);
}

int jp_perfdata_assign_id(struct jp_perfdata_writer *writer, unsigned int event, uint64_t id)
{
	struct event *owner = &writer->events[event];

	return jp_array_append(&owner->ids, &owner->nr_ids, &owner->capacity, id);
}

static void write_header(struct jp_perfdata_writer *writer, uint64_t data_size,
			 const struct jp_perf_section *ids, uint64_t features)
{
	struct {
		struct jp_perf_file_header header;
		struct file_attr attrs[EVENTS];
	} head = {
		.header =
			{
				.magic = JP_PERF_MAGIC,
				.size = sizeof(head.header),
				.attr_size = sizeof(struct file_attr),
				.attrs = {sizeof(head.header),
					  writer->nr_events * sizeof(struct file_attr)},
				.data = {sizeof(head.header) +
						 writer->nr_events * sizeof(struct file_attr),
					 data_size},
				.features = {features},
			},
	};

	for (unsigned int i = 0; i < writer->nr_events; i++) {
		memcpy(head.attrs[i].attr, writer->events[i].attr, ATTR_SIZE);
		head.attrs[i].ids = ids[i];
	}
	writer->data = head.header.data.offset;
	if (jp_output_offset(writer->output))
		jp_output_rewrite(writer->output, 0, &head, writer->data);
	else
		jp_output_put(writer->output, &head, writer->data);
}

static void free_writer(struct jp_perfdata_writer *writer)
{
	if (!writer)
		return;
	jp_output_abandon(writer->output);
	for (unsigned int i = 0; i < writer->nr_events; i++) {
		free(writer->events[i].name);
		free(writer->events[i].ids);
	}
	free(writer);
}

struct jp_perfdata_writer *jp_perfdata_create(const char *path,
					      const struct jp_perfdata_event *events,
					      unsigned int count, struct jp_error *err)
{
	struct jp_perfdata_writer *writer = calloc(1, sizeof(*writer));
	const struct jp_perf_section no_sections[EVENTS] = {0};
	bool memory = true;

	if (!writer || count > EVENTS) {
		jp_fail(err, ENOMEM, "%s: out of memory for the writer of %u events", path, count);
		free(writer);
		return NULL;
	}
	writer->nr_events = count;
	for (unsigned int i = 0; i < count; i++) {
		const uint32_t size = ATTR_SIZE;

		memcpy(writer->events[i].attr, events[i].attr, ATTR_SIZE);
		memcpy(writer->events[i].attr + offsetof(struct jp_perf_attr, size), &size,
		       sizeof(size));
		writer->events[i].name = strdup(events[i].name);
		memory &= writer->events[i].name != NULL;
	}
	if (memory)
		writer->output = jp_output_create(path, err);
	else
		jp_fail(err, ENOMEM, "%s: out of memory for the writer", path);
	if (!writer->output) {
		free_writer(writer);
		return NULL;
	}
	/* State a data size of 0, as in a perf.data whose writer died. */
	write_header(writer, 0, no_sections, 0);
	jp_output_flush(writer->output);
	return writer;
}

static void put_string(struct jp_perfdata_writer *writer, const char *text)
{
	static const char zeros[64];
	size_t size = strlen(text) + 1;
	uint32_t padded = (uint32_t)((size + 63) & ~(size_t)63);

	jp_perfdata_put(writer, &padded, sizeof(padded));
	jp_perfdata_put(writer, text, size);
	jp_perfdata_put(writer, zeros, padded - size);
}

static void put_command_line(struct jp_perfdata_writer *writer)
{
	char text[4096];
	ssize_t size = jp_file_read_text("/proc/self/cmdline", text, sizeof(text));
	uint32_t count = 0;

	if (size < 0)
		size = 0;
	if (size && text[size - 1])
		text[size++] = '\0';
	for (ssize_t i = 0; i < size; i++)
		count += text[i] == '\0';
	jp_perfdata_put(writer, &count, sizeof(count));
	for (const char *arg = text; arg < text + size; arg += strlen(arg) + 1)
		put_string(writer, arg);
}

static void put_event_desc(struct jp_perfdata_writer *writer)
{
	const uint32_t head[2] = {writer->nr_events, ATTR_SIZE};

	jp_perfdata_put(writer, head, sizeof(head));
	for (unsigned int i = 0; i < writer->nr_events; i++) {
		struct event *event = &writer->events[i];
		uint32_t count = (uint32_t)event->nr_ids;

		jp_perfdata_put(writer, event->attr, ATTR_SIZE);
		jp_perfdata_put(writer, &count, sizeof(count));
		put_string(writer, event->name);
		jp_perfdata_put(writer, event->ids, event->nr_ids * sizeof(*event->ids));
	}
}

static void put_feature(struct jp_perfdata_writer *writer, int feature, const uint64_t *times)
{
	struct utsname uts = {0};
	struct timespec resolution = {0};
	uint64_t nanoseconds;
	uint32_t cpus[2];

	uname(&uts);
	switch (feature) {
	case JP_PERF_FEATURE_OSRELEASE:
		put_string(writer, uts.release);
		break;
	case JP_PERF_FEATURE_VERSION:
		put_string(writer, "jitproof");
		break;
	case JP_PERF_FEATURE_ARCH:
		put_string(writer, uts.machine);
		break;
	case JP_PERF_FEATURE_NRCPUS:
		cpus[0] = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
		cpus[1] = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
		jp_perfdata_put(writer, cpus, sizeof(cpus));
		break;
	case JP_PERF_FEATURE_CMDLINE:
		put_command_line(writer);
		break;
	case JP_PERF_FEATURE_EVENT_DESC:
		put_event_desc(writer);
		break;
	case JP_PERF_FEATURE_SAMPLE_TIME:
		jp_perfdata_put(writer, times, 2 * sizeof(*times));
		break;
	case JP_PERF_FEATURE_CLOCKID:
		clock_getres(CLOCK_MONOTONIC, &resolution);
		nanoseconds = (uint64_t)resolution.tv_nsec;
		jp_perfdata_put(writer, &nanoseconds, sizeof(nanoseconds));
		break;
	}
}

int jp_perfdata_close(struct jp_perfdata_writer *writer, uint64_t first, uint64_t last,
		      struct jp_error *err)
{
	static const int features[] = {JP_PERF_FEATURE_OSRELEASE,   JP_PERF_FEATURE_VERSION,
				       JP_PERF_FEATURE_ARCH,        JP_PERF_FEATURE_NRCPUS,
				       JP_PERF_FEATURE_CMDLINE,     JP_PERF_FEATURE_EVENT_DESC,
				       JP_PERF_FEATURE_SAMPLE_TIME, JP_PERF_FEATURE_CLOCKID};
	enum { NR = sizeof(features) / sizeof(features[0]) };
	const uint64_t times[2] = {first, last};
	struct jp_perf_section table[NR] = {0}, ids[EVENTS] = {0};
	uint64_t mask = 0, end, table_at;
	int error;

	/* A data size of 0 would mean that the writer died. */
	if (jp_output_offset(writer->output) == writer->data)
		jp_perfdata_round(writer);
	end = table_at = jp_output_offset(writer->output);
	/* The table of features directly follows the data. It is written when the offsets of the
	 * features are known. */
	jp_perfdata_put(writer, table, sizeof(table));
	for (unsigned int i = 0; i < NR; i++) {
		table[i].offset = jp_output_offset(writer->output);
		put_feature(writer, features[i], times);
		table[i].size = jp_output_offset(writer->output) - table[i].offset;
		mask |= UINT64_C(1) << features[i];
	}
	for (unsigned int i = 0; i < writer->nr_events; i++) {
		ids[i].offset = jp_output_offset(writer->output);
		ids[i].size = writer->events[i].nr_ids * sizeof(uint64_t);
		jp_perfdata_put(writer, writer->events[i].ids, ids[i].size);
	}
	jp_output_rewrite(writer->output, table_at, table, sizeof(table));
	/* Write the header last: if it has a data size, the file is complete. */
	write_header(writer, end - writer->data, ids, mask);
	error = jp_output_close(writer->output, err);
	writer->output = NULL;
	free_writer(writer);
	return error;
}

void jp_perfdata_remove(struct jp_perfdata_writer *writer)
{
	jp_output_remove(writer->output);
	writer->output = NULL;
	free_writer(writer);
}
