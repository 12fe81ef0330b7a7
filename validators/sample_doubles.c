// SPDX-License-Identifier: GPL-2.0-only
/* Double samples: an event takes at most one sample of a thread at one time. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

#include "harness/base/map.h"
#include "harness/format/perfdata/format.h"
#include "harness/judge/validator.h"
#include "validators/sample_class.h"

/* Samples that no thread can have produced. */
static const struct jp_role impossible = {.column = "invented"};

struct sample_doubles {
	struct jp_view *view;
	struct jp_map last; /* tid -> struct last_sample */
	uint64_t doubles;
};

struct last_sample {
	uint64_t time, end, digest; /* @end: offset of the record's end; 0: the record is not from a
				       perf.data */
	uint32_t attr;
};

/* Returns whether perf wrote one record twice. That happens if the record comes between two reads
 * of the ring's head in one round: the next round starts from the first value (perf_mmap__push()
 * and perf_mmap__read_init() in tools/perf/util/mmap.c). A FINISHED_ROUND record then separates the
 * two copies, except in the files of `perf record --threads`, which have none. */
static bool was_written_twice(const struct jp_view *view, const struct last_sample *last,
			      const struct last_sample *again, const struct jp_event *event)
{
	return last->end && event->record && last->digest == again->digest &&
	       (event->file_offset > last->end ||
		(view->summary->in_parts && event->file_offset == last->end));
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	struct sample_doubles *state = view->state;
	struct last_sample *last, current = {.time = event->time, .attr = event->attr};

	if (event->type != JP_EVENT_SAMPLE || !event->time || !event->tid)
		return 0;
	current.digest = jp_sample_digest(event);
	if (event->record)
		current.end =
			event->file_offset + ((const struct jp_perf_record *)event->record)->size;
	last = jp_map_at(&state->last, event->tid, sizeof(*last));
	if (!last)
		return -ENOMEM;
	if (last->time == current.time && last->attr == current.attr) {
		state->doubles++;
		return jp_findings_count_failure(
			&view->findings, "samples",
			was_written_twice(view, last, &current, event) ? "written-twice" : "double",
			"at %" PRIu64 ", %u/%u: two samples of one event", event->time, event->pid,
			event->tid);
	}
	*last = current;
	return 0;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct sample_doubles *state = view->state;

	jp_findings_add_role_count(&view->findings, &impossible, "samples.doubles", state->doubles);
	return 0;
}

static void free_doubles(void *context)
{
	struct sample_doubles *state = context;

	jp_map_free(&state->last);
}

JP_DEFINE(validator, sample_doubles) = {
	.name = "sample_doubles",
	.traits = JP_LACKS_ALL & ~(JP_LACKS_TIME | JP_LACKS_THREADS),
	.state_size = sizeof(struct sample_doubles),
	.handle = handle_event,
	.end = end,
	.free = free_doubles,
};
