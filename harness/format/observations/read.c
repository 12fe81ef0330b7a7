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
	uint64_t at, number; /* @at: offset in the file; @number: line number, from 1 */
};

struct observations {
	const char *path;
	const char *text;
	uint64_t size, at, number; /* @number: line number of the line before @at */
	struct jp_declared *declared;
	struct jp_perfdata_summary *summary;
	struct jp_error *err;
	struct observation *list;
	size_t count, capacity;
	char *line;
	size_t line_capacity;
};

enum { SHOWN = 60 }; /* characters of a malformed line in a message */

static int fail_at(const struct observations *all, uint64_t number, const char *expected)
{
	return jp_fail(all->err, EINVAL, "%s: line %llu: expected %s", all->path,
		       (unsigned long long)number, expected);
}

static uint64_t get_line_size(const struct observations *all, uint64_t offset)
{
	const char *end = memchr(all->text + offset, '\n', all->size - offset);

	return end ? (uint64_t)(end - (all->text + offset)) : all->size - offset;
}

/* Fails like fail_at(), but also quotes the line at @offset, since the file may no longer exist
 * when the author of the profiler reads the message. */
static int fail_line(const struct observations *all, uint64_t offset, uint64_t number,
		     const char *expected)
{
	const uint64_t size = get_line_size(all, offset);
	char shown[SHOWN + 1], text[256];

	snprintf(shown, sizeof(shown), "%.*s", (int)jp_min(size, SHOWN), all->text + offset);
	snprintf(text, sizeof(text), "%s, there is \"%s%s\"", expected, jp_printable(shown),
		 size > SHOWN ? "..." : "");
	return fail_at(all, number, text);
}

static int copy_line(struct observations *all, uint64_t offset, uint64_t number)
{
	uint64_t size = get_line_size(all, offset);

	if (!jp_array_reserve(&all->line, &all->line_capacity, size + 2))
		return jp_fail(all->err, ENOMEM, "%s: out of memory for a line", all->path);
	if (memchr(all->text + offset, '\0', size))
		return fail_at(all, number, "text without NUL");
	memcpy(all->line, all->text + offset, size);
	/* Clear two bytes after the line, because the parser may put a newline there. */
	memset(all->line + size, 0, 2);
	return 0;
}

/* Reads the first line and the lines of the header up to the first event. */
static int read_header(struct observations *all)
{
	static const char first[] = JP_OBSERVATIONS_MAGIC "1";

	if (get_line_size(all, 0) != sizeof(first) - 1 ||
	    memcmp(all->text, first, sizeof(first) - 1) != 0)
		return fail_at(all, 1, "\"" JP_OBSERVATIONS_MAGIC "1\"");
	/* Version 1 of the format has no stack pointers. */
	*all->declared = (struct jp_declared){.observed = true,
					      .lacks = JP_LACKS_RECORDS | JP_LACKS_REGISTERS};
	for (all->number = 1, all->at = sizeof(first); all->at < all->size; all->number++) {
		uint64_t size = get_line_size(all, all->at);
		const char *expected;

		if (size && all->text[all->at] != '#') {
			if (!jp_observation_is_header(all->text + all->at, size))
				break;
			if (copy_line(all, all->at, all->number + 1))
				return -EINVAL;
			expected = jp_declared_parse_line(all->declared, all->line);
			if (expected)
				return fail_line(all, all->at, all->number + 1, expected);
		}
		all->at += size + 1;
	}
	return 0;
}

static int list_events(struct observations *all)
{
	for (; all->at < all->size; all->number++) {
		uint64_t size = get_line_size(all, all->at), time;
		struct observation *one;

		if (size && all->text[all->at] != '#') {
			if (all->at + size == all->size)
				return fail_at(all, all->number + 1,
					       "a newline at its end (cut off?)");
			if (!jp_observation_time(all->declared, all->text + all->at, size, &time))
				return fail_line(all, all->at, all->number + 1,
						 "a word and a time in ns");
			one = jp_array_push(&all->list, &all->count, &all->capacity);
			if (!one)
				return jp_fail(all->err, ENOMEM, "%s: out of memory for %zu lines",
					       all->path, all->count);
			*one = (struct observation){time, all->at, all->number + 1};
		}
		all->at += size + 1;
	}
	return 0;
}

JP_ORDER(compare_by_time, struct observation,
	 jp_compare(a->time, b->time) ?: jp_compare(a->at, b->at));

/* Adds the weight of @event to *@all. Returns false if the sum exceeds INT64_MAX. */
static bool add_weight(uint64_t *all, const struct jp_event *event)
{
	if (event->type != JP_EVENT_SAMPLE)
		return true;
	return !__builtin_add_overflow(*all, event->observed->weight, all) && *all <= INT64_MAX;
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

static int visit_events(struct observations *all, jp_event_visit visit, void *context)
{
	jp_cleanup_free struct jp_observation_line *parser = calloc(1, sizeof(*parser));
	uint64_t weight = 0;
	int ret = 0;

	if (!parser)
		return jp_fail(all->err, ENOMEM, "%s: out of memory for a line", all->path);
	parser->declared = all->declared;
	jp_observation_begin(parser);
	for (size_t i = 0; i < all->count && !ret; i++) {
		const struct observation *one = &all->list[i];
		const char *expected;

		ret = copy_line(all, one->at, one->number);
		if (ret)
			break;
		expected = jp_observation_parse(parser, all->line);
		if (!expected && !add_weight(&weight, &parser->event))
			expected = "counts of samples that are below 2^63 all together";
		if (expected) {
			ret = fail_line(all, one->at, one->number, expected);
			break;
		}
		parser->event.at = one->at;
		count_event(all->summary, &parser->event);
		ret = visit(context, &parser->event);
	}
	jp_observation_end(parser);
	return ret;
}

static int open_file(struct observations *all)
{
	jp_cleanup_close int fd = jp_named_open_regular(all->path);
	struct stat st;

	if (fd < 0 && fd != -EINVAL)
		return jp_fail(all->err, -fd, "%s: %s", all->path, strerror(-fd));
	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		return jp_fail(all->err, EINVAL, "%s: expected a regular file that is not empty",
			       all->path);
	all->size = (uint64_t)st.st_size;
	all->text = jp_mapped_file(fd, all->path, all->size, all->err);
	return all->text ? jp_mapped_file_check(fd, all->path, all->size, all->err) : -EIO;
}

int jp_observations_read(const char *path, jp_event_visit visit, void *context,
			 struct jp_declared *declared, struct jp_perfdata_summary *summary,
			 struct jp_error *err)
{
	struct observations all = {
		.path = path, .declared = declared, .summary = summary, .err = err};
	int ret = open_file(&all) ?: read_header(&all);

	if (!ret && visit) {
		*summary = (struct jp_perfdata_summary){.bytes = all.size, .monotonic = true};
		ret = list_events(&all);
		if (!ret)
			jp_sort(all.list, all.count, compare_by_time);
		if (!ret)
			ret = visit_events(&all, visit, context);
	}
	jp_mapped_file_end(all.text);
	free(all.list);
	free(all.line);
	return ret;
}
