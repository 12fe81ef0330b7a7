// SPDX-License-Identifier: GPL-2.0-only
/* Collects events and verdicts of one capture for a picture, in the order of the file. */
#include "harness/report/picture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/model/space/mapping_name.h"
#include "harness/model/space/places.h"
#include "harness/model/unwind/methods.h"

static int keep_string(struct jp_picture *picture, const char *text, size_t *number)
{
	const struct jp_text *stored = jp_text_keep(&picture->strings, text, strlen(text));

	if (!stored)
		return -ENOMEM;
	*number = stored->number;
	return 0;
}

/* The source of the names of frames: the truth of a case, or the names that are found for a file
 * without truth. */
struct picture_naming {
	const struct jp_truth *truth;
	struct jp_replay *spaces;
	struct jp_names *names;
};

/* Returns the name that a JIT published for @addr, or NULL. Does not use symbols of mapped files,
 * which may have been replaced since. */
static const char *find_published_name(struct jp_names *names, const struct jp_mapping *mapping,
				       uint64_t addr)
{
	const struct jp_name name = jp_names_find(names, mapping, addr);

	return name.source == JP_NAME_MAP || name.source == JP_NAME_JITDUMP ? name.text : NULL;
}

/* Returns the name of the code at @addr: from the truth, else the published name, else the file
 * name of the mapping. */
static const char *name_frame(const struct picture_naming *naming, const struct jp_event *sample,
			      uint64_t addr)
{
	const struct jp_truth_code *code =
		naming->truth ? jp_truth_code_at(naming->truth, sample->pid, addr, sample->time)
			      : NULL;
	const struct jp_mapping *mapping = jp_replay_find(naming->spaces, sample->pid, addr);
	const char *name = mapping ? mapping->name : "[unmapped]", *slash = strrchr(name, '/');
	const char *published =
		naming->names && mapping ? find_published_name(naming->names, mapping, addr) : NULL;

	if (code)
		return code->name;
	return published ?: slash && slash[1] && name[1] != '/' ? slash + 1 : name;
}

static int keep_stack(struct jp_picture *picture, const struct picture_naming *naming,
		      const struct jp_event *sample, const uint64_t *frames, uint64_t count,
		      size_t *number)
{
	*number = 0;
	for (uint64_t i = jp_min(count, (uint64_t)JP_PICTURE_FRAMES); i-- > 0;) {
		struct jp_picture_frame frame = {.callers = (uint32_t)*number};
		const struct jp_text *stored;
		size_t name;

		/* A return address may be the first byte after its function. */
		if (keep_string(picture, name_frame(naming, sample, frames[i] - (i > 0)), &name))
			return -ENOMEM;
		frame.name = (uint32_t)name;
		stored = jp_text_keep(&picture->stacks, &frame, sizeof(frame));
		if (!stored)
			return -ENOMEM;
		*number = stored->number;
	}
	return 0;
}

static int drop_stacks(struct jp_picture *picture)
{
	struct jp_stack_move move;
	int failed = jp_stack_move_begin(&move, &picture->stacks);

	for (size_t i = 0; i < picture->nr_rows && !failed; i++)
		failed = jp_stack_move(&move, &picture->rows[i].nr_recorded)
				 ?: jp_stack_move(&move, &picture->rows[i].nr_true);
	jp_stack_move_end(&move, &picture->stacks);
	return failed;
}

/* Drops every second kept sample. Returns 0 or -ENOMEM. */
static int halve_rows(struct jp_picture *picture)
{
	size_t nr_kept = 0;

	picture->stride = picture->stride * 2 + 1;
	for (size_t i = 0; i < picture->nr_rows; i++)
		if (!(picture->rows[i].sample & picture->stride))
			picture->rows[nr_kept++] = picture->rows[i];
	picture->nr_rows = nr_kept;
	return drop_stacks(picture);
}

int jp_picture_drop_every_second(struct jp_picture *picture, size_t rows)
{
	int failed = 0;

	while (picture->nr_rows > rows && !failed)
		failed = halve_rows(picture);
	return failed;
}

static int limit_size(struct jp_picture *picture)
{
	return picture->nr_rows < JP_PICTURE_ROWS && picture->stacks.count < JP_PICTURE_STACKS
		       ? 0
		       : halve_rows(picture);
}

static bool is_kept(const struct jp_picture *picture)
{
	return !((picture->samples - 1) & picture->stride);
}

static int add_row(struct jp_picture *picture, const struct jp_event *sample, const char *method,
		   const char *verdict, const char *cause)
{
	struct jp_picture_row *row =
		jp_array_push(&picture->rows, &picture->nr_rows, &picture->rows_capacity);

	const struct jp_picture_thread thread = {sample->pid, sample->tid};
	const struct jp_text *stored = jp_text_keep(&picture->threads, &thread, sizeof(thread));

	/* Stack number 0 is the empty stack. */
	if (!row || !stored || !jp_text_keep(&picture->stacks, "", 0))
		return -ENOMEM;
	row->time = sample->time;
	row->ip = sample->sample.ip;
	row->sample = picture->samples - 1;
	row->pid = sample->pid;
	row->thread = stored->number;
	return keep_string(picture, method, &row->method)
		       ?: keep_string(picture, verdict, &row->verdict)
		       ?: keep_string(picture, cause ?: "", &row->cause);
}

static int add_mark(struct jp_picture *picture, uint64_t time, uint32_t pid, const char *kind,
		    const char *text)
{
	struct jp_picture_mark *mark =
		jp_array_push(&picture->marks, &picture->nr_marks, &picture->marks_capacity);

	if (!mark)
		return -ENOMEM;
	mark->time = time;
	mark->pid = pid;
	return keep_string(picture, kind, &mark->kind) ?: keep_string(picture, text, &mark->text);
}

static int add_box(struct jp_picture *picture, struct jp_picture_boxes *boxes,
		   struct jp_picture_box box, const char *name, const char *kind)
{
	return keep_string(picture, name, &box.name)
		       ?: keep_string(picture, kind, &box.kind)
		       ?: jp_picture_boxes_add(boxes, &box);
}

/* Draws a mapping record of a process's code. Ignores records of the kernel and of data. */
static int add_record(struct jp_picture *picture, const struct jp_event *event)
{
	struct jp_picture_box box = {.pid = event->pid,
				     .addr = event->map.addr,
				     .size = event->map.len,
				     .start_time = event->time,
				     .end_time = UINT64_MAX};
	const enum jp_place place =
		jp_place_classify(jp_mapping_backing(event->map.name), event->map.name);

	box.in_file = place == JP_PLACE_FILE;
	if (event->kernel_map || !(event->map.prot & JP_PROT_EXEC))
		return 0;
	return add_box(picture, &picture->records, box, event->map.name, jp_place_text[place]);
}

static int add_event(struct jp_picture *picture, const struct jp_event *event)
{
	char text[64] = "";

	switch (event->type) {
	case JP_EVENT_MAP:
		return add_record(picture, event);
	case JP_EVENT_COMM:
		return add_mark(picture, event->time, event->pid,
				event->comm.exec ? "exec" : "name", event->comm.name);
	case JP_EVENT_FORK:
		if (event->pid == event->task.ppid)
			return 0;
		snprintf(text, sizeof(text), "%u", event->task.ppid);
		return add_mark(picture, event->time, event->pid, "fork", text);
	case JP_EVENT_EXIT:
		return event->pid == event->tid
			       ? add_mark(picture, event->time, event->pid, "exit", "")
			       : 0;
	case JP_EVENT_LOST:
	case JP_EVENT_LOST_SAMPLES:
		snprintf(text, sizeof(text), "%llu", (unsigned long long)event->lost.lost);
		return add_mark(picture, event->time, event->pid, "loss", text);
	case JP_EVENT_THROTTLE:
		return add_mark(picture, event->time, event->pid, "throttle", "");
	default:
		return 0;
	}
}

/* Draws the true code of the whole case. */
static int add_truth(struct jp_picture *picture, const struct jp_evidence *evidence)
{
	const struct jp_truth *truth = evidence->truth;
	int failed = jp_picture_ends_add_truth(&picture->mapping_ends, truth);

	picture->has_truth = true;
	for (size_t i = 0; i < truth->nr_codes && !failed; i++) {
		const struct jp_truth_code *code = &truth->codes[i];
		struct jp_picture_box box = {.pid = code->pid,
					     .addr = code->addr,
					     .size = code->size,
					     .start_time = code->ready,
					     .end_time = code->unloaded,
					     .in_file = code->in_file};

		failed = add_box(picture, &picture->truth, box, code->name,
				 code->in_file ? "file" : "emitted");
	}
	picture->attached = evidence->watched.started;
	if (!failed && picture->attached)
		failed = add_mark(picture, picture->attached, 0, "capture", "opens");
	if (!failed && evidence->watched.ending)
		failed = add_mark(picture, evidence->watched.ending, 0, "capture", "closes");
	for (size_t i = 0; i < evidence->intervals.nr_intervals && !failed; i++) {
		const struct jp_interval *interval = &evidence->intervals.intervals[i];

		failed = add_mark(picture, interval->enabled, interval->pid, "gate", "opens")
				 ?: add_mark(picture, interval->disabling, interval->pid, "gate",
					     "closes");
	}
	return failed;
}

static int draw_event(void *context, const struct jp_evidence *evidence,
		      const struct jp_event *event)
{
	struct jp_picture *picture = context;

	if ((!picture->has_truth && add_truth(picture, evidence)) ||
	    jp_picture_ends_handle(&picture->mapping_ends, event))
		return -ENOMEM;
	if (event->type != JP_EVENT_SAMPLE)
		return add_event(picture, event);
	if (limit_size(picture))
		return -ENOMEM;
	picture->samples++;
	picture->undecided = is_kept(picture);
	return picture->undecided ? add_row(picture, event, "", "outside", NULL) : 0;
}

static int draw_decision(void *context, const struct jp_evidence *evidence,
			 struct jp_replay *spaces, const struct jp_event *sample,
			 const struct jp_decision *decision)
{
	const struct jp_truth_stack *truth = decision->truth;
	const struct picture_naming naming = {evidence->truth, spaces, NULL};
	struct jp_picture *picture = context;
	struct jp_picture_row *row;

	if (!is_kept(picture))
		return 0;
	/* The row of the first verdict replaces the row that was added for the sample. */
	picture->nr_rows -= picture->undecided;
	picture->undecided = false;
	if (add_row(picture, sample, jp_method_name(decision->method),
		    jp_verdict_text(decision->verdict),
		    decision->verdict == JP_EXACT || decision->verdict == JP_GAP ? NULL
										 : decision->cause))
		return -ENOMEM;
	row = &picture->rows[picture->nr_rows - 1];
	if (decision->nr_frames) /* a sample in the kernel is shown at its user address */
		row->ip = decision->frames[0];
	return keep_stack(picture, &naming, sample, decision->frames, decision->nr_frames,
			  &row->nr_recorded)
		       ?: keep_stack(picture, &naming, sample, truth ? truth->frames : NULL,
				     truth ? truth->nr_whole : 0, &row->nr_true);
}

static int draw_publication(void *context, const struct jp_publication *publication)
{
	const struct jp_truth_code *code = publication->code;
	struct jp_picture *picture = context;
	struct jp_picture_box load = {.pid = code->pid,
				      .addr = code->addr,
				      .size = code->size,
				      .start_time = publication->time,
				      .end_time = code->unloaded,
				      .hidden_at = publication->hidden_at};

	return keep_string(picture, publication->hider ?: "", &load.hider)
		       ?: add_box(picture, &picture->loads, load, code->name, "jitdump");
}

/* State of drawing the perf map of one process. */
struct picture_map {
	struct jp_picture *picture;
	uint32_t pid;
	int failed;
};

static void draw_line(void *context, uint64_t start, uint64_t size, const char *name)
{
	struct picture_map *map = context;
	const struct jp_picture_box load = {
		.pid = map->pid, .addr = start, .size = size, .end_time = UINT64_MAX};

	if (!map->failed)
		map->failed = add_box(map->picture, &map->picture->loads, load, name, "perf map");
}

int jp_picture_draw_perf_maps(void *context, struct jp_names *names)
{
	struct jp_picture *picture = context;
	struct picture_map map = {.picture = picture};
	struct jp_text_pool known_path = {0};

	for (const struct jp_text *thread = picture->threads.first; thread && !map.failed;
	     thread = thread->next) {
		const size_t nr_before = known_path.count;
		const struct jp_perf_map *lines;

		/* The pid is the first member. */
		memcpy(&map.pid, thread->bytes, sizeof(map.pid));
		if (!jp_text_keep(&known_path, &map.pid, sizeof(map.pid)))
			map.failed = -ENOMEM;
		lines = known_path.count > nr_before ? jp_names_map(names, map.pid, NULL) : NULL;
		if (lines)
			jp_perf_map_visit_lines(lines, draw_line, &map);
	}
	jp_text_pool_free(&known_path);
	return map.failed;
}

struct jp_listener jp_picture_listener(struct jp_picture *picture)
{
	return (struct jp_listener){draw_event, draw_decision, draw_publication,
				    jp_picture_draw_perf_maps, picture};
}

/* Returns how a file without truth shows the sample. */
static const char *classify_sample(struct jp_replay *spaces, const struct jp_event *sample,
				   const struct jp_stack *stack, uint64_t ip)
{
	const struct jp_mapping *mapping = jp_replay_find(spaces, sample->pid, ip);

	if (!sample->sample.user && !stack->count)
		return "kernel";
	if (!mapping || !(mapping->prot & JP_PROT_EXEC))
		return "unmapped";
	if (stack->count == 1)
		return "single";
	return jp_place_text[jp_place_classify(mapping->backing, mapping->name)];
}

int jp_picture_draw_event(void *context, struct jp_replay *spaces, struct jp_names *names,
			  const struct jp_event *event, const struct jp_stack *stack)
{
	const struct picture_naming naming = {NULL, spaces, names};
	struct jp_picture *picture = context;
	struct jp_picture_row *row;
	uint64_t ip;

	if (jp_picture_ends_handle(&picture->mapping_ends, event))
		return -ENOMEM;
	if (event->type != JP_EVENT_SAMPLE)
		return add_event(picture, event);
	if (limit_size(picture))
		return -ENOMEM;
	picture->samples++;
	if (!is_kept(picture))
		return 0;
	ip = stack->count ? stack->frames[0] : event->sample.ip;
	if (add_row(picture, event, jp_method_name(stack->method),
		    classify_sample(spaces, event, stack, ip), NULL))
		return -ENOMEM;
	row = &picture->rows[picture->nr_rows - 1];
	row->ip = ip;
	return keep_stack(picture, &naming, event, stack->frames, stack->count, &row->nr_recorded);
}

void jp_picture_free(struct jp_picture *picture)
{
	jp_text_pool_free(&picture->strings);
	jp_text_pool_free(&picture->stacks);
	jp_text_pool_free(&picture->threads);
	free(picture->truth.list);
	free(picture->records.list);
	jp_picture_ends_free(&picture->mapping_ends);
	free(picture->loads.list);
	free(picture->rows);
	free(picture->marks);
	*picture = (struct jp_picture){0};
}
