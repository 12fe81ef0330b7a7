// SPDX-License-Identifier: GPL-2.0-only
#include "validators/mapping_points.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"
#include "harness/model/space/mapping_name.h"

static int add_point(struct jp_mapping_points *points, uint32_t pid, uint64_t time, bool mark)
{
	return jp_array_append(&points->list, &points->count, &points->capacity,
			       (struct jp_mapping_point){time, pid, mark});
}

/* Stores in *@from_ns and *@to_ns the next time range in which the capture has records of
 * @image. Returns false at the end. */
static bool find_next_window(const struct jp_mapping_points *points,
			     const struct jp_truth_incarnation *image, size_t *cursor,
			     uint64_t *from_ns, uint64_t *to_ns)
{
	return jp_evidence_next_known_window(points->evidence, image->pid, image->before,
					     image->after, cursor, from_ns, to_ns);
}

static int find_points(struct jp_mapping_points *points, const struct jp_truth_incarnation *image)
{
	const uint64_t slack = points->evidence->info.slack;
	uint64_t from_ns, to_ns;
	int failed = 0;

	for (size_t cursor = 0;
	     !failed && find_next_window(points, image, &cursor, &from_ns, &to_ns);) {
		const uint64_t end = jp_min(to_ns, image->until);

		if (from_ns >= end)
			continue;
		failed = add_point(points, image->pid, from_ns, false);
		for (size_t i = 0; !failed && i < points->truth->nr_marks; i++) {
			const struct jp_mark *mark = &points->truth->marks[i];

			if (mark->pid == image->pid && mark->after + slack > from_ns &&
			    mark->after < end && mark->after + slack <= to_ns)
				failed = add_point(points, image->pid, mark->after + slack, true);
		}
		/* An image that ended earlier has its last mark at its end. */
		if (!failed && image->until > to_ns + slack)
			failed = add_point(points, image->pid, to_ns, false);
	}
	return failed;
}

/* Returns whether the truth contains the maps of @image at least once. */
static bool has_mark(const struct jp_mapping_points *points,
		     const struct jp_truth_incarnation *image)
{
	for (size_t i = 0; i < points->truth->nr_marks; i++) {
		const struct jp_mark *mark = &points->truth->marks[i];

		if (mark->pid == image->pid && mark->before >= image->before &&
		    mark->after <= image->until)
			return true;
	}
	return false;
}

/* Fails if the truth has no maps of a process that ran code while it was watched. */
static int require_marks(const struct jp_mapping_points *points, struct jp_error *err)
{
	const struct jp_truth *truth = points->evidence->truth;
	jp_cleanup_free bool *has_run = calloc(truth->nr_incarnations ?: 1, sizeof(*has_run));
	uint64_t from_ns, to_ns;

	if (!has_run)
		return -ENOMEM;
	for (size_t i = 0; i < truth->nr_activations; i++) {
		const struct jp_truth_activation *activation = &truth->activations[i];
		const struct jp_truth_incarnation *image = truth->incarnations;
		size_t n;

		jp_search(n, truth->nr_incarnations,
			  image[n].pid < activation->pid || (image[n].pid == activation->pid &&
							     image[n].before <= activation->enter));
		if (!n || image[n - 1].pid != activation->pid || has_run[n - 1])
			continue;
		for (size_t cursor = 0;
		     find_next_window(points, &image[n - 1], &cursor, &from_ns, &to_ns);)
			has_run[n - 1] |= activation->enter < to_ns && activation->leave > from_ns;
	}
	for (size_t i = 0; i < truth->nr_incarnations; i++) {
		const struct jp_truth_incarnation *image = &truth->incarnations[i];

		if (has_run[i] && !has_mark(points, image))
			return jp_fail(err, ENODATA,
				       "pid %u from %" PRIu64 " ran code while it was watched, and "
				       "the truth has no maps of it",
				       image->pid, image->after);
	}
	return 0;
}

/* Returns whether an operation of the truth must have mapped the memory of @line: code outside of
 * workloads maps only files and kernel pages as executable. */
static bool needs_act(const struct jp_procmap *line)
{
	return *line->name != '[' && (jp_mapping_backing(line->name) != JP_BACKING_FILE ||
				      fnmatch("*/jit-*.dump*", line->name, 0) == 0);
}

/* Returns whether a process mapped the mapping @executable from a file, such as its program in a
 * memfd. */
static bool is_of_file(const struct jp_truth *truth, const struct jp_executable *executable)
{
	const struct jp_box box = {executable->start, executable->end, executable->open_before,
				   executable->close_before};
	struct jp_truth_files_at cursor = {0};
	struct jp_truth_file file;

	return jp_truth_next_file(truth, executable->pid, &box, &cursor, &file);
}

/* Returns whether the mapping @executable ever contained emitted code. */
static bool holds_code(const struct jp_truth *truth, const struct jp_executable *executable)
{
	size_t i;

	jp_search(i, truth->nr_codes,
		  (jp_compare(truth->codes[i].pid, executable->pid)
			   ?: jp_compare(truth->codes[i].addr, executable->start)) < 0);
	for (; i < truth->nr_codes && truth->codes[i].pid == executable->pid &&
	       truth->codes[i].addr < executable->end;
	     i++)
		if (truth->codes[i].loaded > executable->open_before &&
		    truth->codes[i].ready < executable->close_before)
			return true;
	return false;
}

/* Fails if the truth's maps contain memory that no operation of the truth mapped. */
static int require_acts(const struct jp_mapping_points *points, struct jp_error *err)
{
	const struct jp_executables *executables = points->truth;
	const struct jp_truth *truth = points->evidence->truth;

	for (size_t i = 0; i < executables->count; i++) {
		const struct jp_executable *executable = &executables->list[i];
		const struct jp_memory *memory = &executables->memories[executable->memory];

		if (memory->act || !memory->line || *memory->line->name == '[' ||
		    !((needs_act(memory->line) && !is_of_file(truth, executable)) ||
		      holds_code(truth, executable)))
			continue;
		return jp_fail(err, ENODATA,
			       "pid %u has %" PRIx64 "-%" PRIx64 " %.200s executable in its maps,"
			       " but no operation of the truth mapped it",
			       executable->pid, executable->start, executable->end,
			       *memory->line->name ? memory->line->name : "(no name)");
	}
	return 0;
}

JP_ORDER(compare_by_time, struct jp_mapping_point,
	 jp_compare(a->time, b->time) ?: jp_compare(a->pid, b->pid));

int jp_mapping_points_find(struct jp_mapping_points *points, struct jp_error *err)
{
	const struct jp_truth *truth = points->evidence->truth;
	int failed = require_marks(points, err) ?: require_acts(points, err);

	for (size_t i = 0; !failed && i < truth->nr_incarnations; i++)
		failed = find_points(points, &truth->incarnations[i]);
	jp_sort(points->list, points->count, compare_by_time);
	return failed;
}
