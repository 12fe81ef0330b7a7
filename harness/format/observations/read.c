// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/observations/read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/mapped_file.h"
#include "harness/base/order.h"
#include "harness/base/printable.h"
#include "harness/base/sort.h"
#include "harness/base/untrusted_file.h"
#include "harness/format/observations/line.h"

/* Position and time of one line. */
struct observation {
	uint64_t time;
	uint64_t offset, number; /* @offset: offset in the file; @number: line number, from 1 */
};

struct observations {
	const char *path;
	const char *text;
	uint64_t size, offset, number; /* @number: line number of the line before @offset */
	struct jp_declared *declared;
	struct jp_perfdata_summary *summary;
	struct jp_error *err;
	struct observation *list;
	size_t count, capacity;
	char *line;
	size_t line_capacity;
};

enum { SHOWN = 60 }; /* characters of a malformed line in a message */

static int fail_at(const struct observations *input, uint64_t number, const char *expected)
{
	return jp_fail(input->err, EINVAL, "%s: line %llu: expected %s", input->path,
		       (unsigned long long)number, expected);
}

static uint64_t get_line_size(const struct observations *input, uint64_t offset)
{
	const char *end = memchr(input->text + offset, '\n', input->size - offset);

	return end ? (uint64_t)(end - (input->text + offset)) : input->size - offset;
}

/* Fails like fail_at(), but also quotes the line at @offset, since the file may no longer exist
 * when the author of the profiler reads the message. */
static int fail_line(const struct observations *input, uint64_t offset, uint64_t number,
		     const char *expected)
{
	const uint64_t size = get_line_size(input, offset);
	char quoted[SHOWN + 1], text[256];

	snprintf(quoted, sizeof(quoted), "%.*s", (int)jp_min(size, SHOWN), input->text + offset);
	snprintf(text, sizeof(text), "%s, there is \"%s%s\"", expected, jp_printable(quoted),
		 size > SHOWN ? "..." : "");
	return fail_at(input, number, text);
}

static int copy_line(struct observations *input, uint64_t offset, uint64_t number)
{
	uint64_t size = get_line_size(input, offset);

	if (!jp_array_reserve(&input->line, &input->line_capacity, size + 2))
		return jp_fail(input->err, ENOMEM, "%s: out of memory for a line", input->path);
	if (memchr(input->text + offset, '\0', size))
		return fail_at(input, number, "text without NUL");
	memcpy(input->line, input->text + offset, size);
	/* Clear two bytes after the line, because the parser may put a newline there. */
	memset(input->line + size, 0, 2);
	return 0;
}

/* Reads the first line and the lines of the header up to the first event. */
static int read_header(struct observations *input)
{
	static const char first[] = JP_OBSERVATIONS_MAGIC "1";

	if (get_line_size(input, 0) != sizeof(first) - 1 ||
	    memcmp(input->text, first, sizeof(first) - 1) != 0)
		return fail_at(input, 1, "\"" JP_OBSERVATIONS_MAGIC "1\"");
	/* Version 1 of the format has no stack pointers. */
	*input->declared = (struct jp_declared){.observed = true,
						.lacking = JP_LACKS_RECORDS | JP_LACKS_REGISTERS};
	for (input->number = 1, input->offset = sizeof(first); input->offset < input->size;
	     input->number++) {
		uint64_t size = get_line_size(input, input->offset);
		const char *expected;

		if (size && input->text[input->offset] != '#') {
			if (!jp_observation_is_header(input->text + input->offset, size))
				break;
			if (copy_line(input, input->offset, input->number + 1))
				return -EINVAL;
			expected = jp_declared_parse_line(input->declared, input->line);
			if (expected)
				return fail_line(input, input->offset, input->number + 1, expected);
		}
		input->offset += size + 1;
	}
	return 0;
}

static int list_events(struct observations *input)
{
	for (; input->offset < input->size; input->number++) {
		uint64_t size = get_line_size(input, input->offset), time;
		struct observation *observation;

		if (size && input->text[input->offset] != '#') {
			if (input->offset + size == input->size)
				return fail_at(input, input->number + 1,
					       "a newline at its end (cut off?)");
			if (!jp_observation_time(input->declared, input->text + input->offset, size,
						 &time))
				return fail_line(input, input->offset, input->number + 1,
						 "a word and a time in ns");
			observation = jp_array_push(&input->list, &input->count, &input->capacity);
			if (!observation)
				return jp_fail(input->err, ENOMEM,
					       "%s: out of memory for %zu lines", input->path,
					       input->count);
			*observation = (struct observation){time, input->offset, input->number + 1};
		}
		input->offset += size + 1;
	}
	return 0;
}

JP_ORDER(compare_by_time, struct observation,
	 jp_compare(a->time, b->time) ?: jp_compare(a->offset, b->offset));

/* Adds the weight of @event to *@sum. Returns false if the sum exceeds INT64_MAX. */
static bool add_weight(uint64_t *sum, const struct jp_event *event)
{
	if (event->type != JP_EVENT_SAMPLE)
		return true;
	return !__builtin_add_overflow(*sum, event->observed->weight, sum) && *sum <= INT64_MAX;
}

static void count_event(struct jp_perfdata_summary *summary, const struct jp_event *event)
{
	summary->records++;
	summary->samples += event->type == JP_EVENT_SAMPLE;
	if (event->type == JP_EVENT_LOST) {
		summary->lost_records++;
		summary->lost_events += event->lost.lost;
	} else if (event->type == JP_EVENT_LOST_SAMPLES) {
		summary->lost_samples += event->lost.lost;
	}
}

static int visit_events(struct observations *input, jp_event_visit visit, void *context)
{
	jp_cleanup_free struct jp_observation_line *parser = calloc(1, sizeof(*parser));
	uint64_t weight = 0;
	int ret = 0;

	if (!parser)
		return jp_fail(input->err, ENOMEM, "%s: out of memory for a line", input->path);
	parser->declared = input->declared;
	jp_observation_begin(parser);
	for (size_t i = 0; i < input->count && !ret; i++) {
		const struct observation *observation = &input->list[i];
		const char *expected;

		ret = copy_line(input, observation->offset, observation->number);
		if (ret)
			break;
		expected = jp_observation_parse(parser, input->line);
		if (!expected && !add_weight(&weight, &parser->event))
			expected = "counts of samples that are below 2^63 all together";
		if (expected) {
			ret = fail_line(input, observation->offset, observation->number, expected);
			break;
		}
		parser->event.file_offset = observation->offset;
		count_event(input->summary, &parser->event);
		ret = visit(context, &parser->event);
	}
	jp_observation_end(parser);
	return ret;
}

static int open_file(struct observations *input)
{
	jp_cleanup_close int fd = jp_named_open_regular(input->path);
	struct stat st;

	if (fd < 0 && fd != -EINVAL)
		return jp_fail(input->err, -fd, "%s: %s", input->path, strerror(-fd));
	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		return jp_fail(input->err, EINVAL, "%s: expected a regular file that is not empty",
			       input->path);
	input->size = (uint64_t)st.st_size;
	input->text = jp_mapped_file(fd, input->path, input->size, input->err);
	return input->text ? jp_mapped_file_check(fd, input->path, input->size, input->err) : -EIO;
}

int jp_observations_read(const char *path, jp_event_visit visit, void *context,
			 struct jp_declared *declared, struct jp_perfdata_summary *summary,
			 struct jp_error *err)
{
	struct observations input = {
		.path = path, .declared = declared, .summary = summary, .err = err};
	int ret = open_file(&input) ?: read_header(&input);

	if (!ret && visit) {
		*summary = (struct jp_perfdata_summary){.bytes = input.size, .monotonic = true};
		ret = list_events(&input);
		if (!ret)
			jp_sort(input.list, input.count, compare_by_time);
		if (!ret)
			ret = visit_events(&input, visit, context);
	}
	jp_mapped_file_end(input.text);
	free(input.list);
	free(input.line);
	return ret;
}
