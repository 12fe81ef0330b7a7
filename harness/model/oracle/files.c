// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/collect.h"

#include <errno.h>
#include <stdlib.h>

struct live_file {
	uint64_t start, end;
	size_t file; /* index in truth->files */
};

static const struct jp_range_kind by_place = {.size = sizeof(struct live_file)};

/* Records that process @pid unmapped file @file, which it had inherited by a fork, at @time.
 * Returns 0 or -ENOMEM. */
static int end_inherited(struct jp_truth_collector *collector, uint32_t pid,
			 struct jp_truth_inherited *inherited, const struct live_file *file,
			 uint64_t time)
{
	struct jp_truth *truth = collector->truth;
	struct jp_truth_file *ended =
		jp_array_push(&truth->files, &truth->nr_files, &collector->files_capacity);

	if (!ended)
		return -ENOMEM;
	*ended = truth->files[file->file];
	ended->pid = pid;
	ended->from = inherited->from;
	ended->until = time;
	ended->order = 0;
	return jp_ranges_clear(&inherited->files, file->start, file->end);
}

/* Ends each file mapping of @process that begins or ends in [@addr, @addr + @len), as a whole.
 * Returns 0 or -ENOMEM. */
static int end_files(struct jp_truth_collector *collector, struct jp_truth_process *process,
		     uint64_t addr, uint64_t len, uint64_t time)
{
	struct jp_truth *truth = collector->truth;
	const struct live_file *found, *own;
	int failed = 0;

	while (!failed && process->files &&
	       (found = jp_ranges_find_at_or_above(process->files, addr)) &&
	       found->start < addr + len) {
		const struct live_file file = *found;

		own = process->own_files
			      ? jp_ranges_find_at_or_above(process->own_files, file.start)
			      : NULL;
		if (own && own->start == file.start) {
			truth->files[file.file].until = time;
			failed = jp_ranges_clear(&process->own_files, file.start, file.end);
		} else {
			failed = end_inherited(collector, process->process.pid,
					       &truth->inherited[process->inherited_file - 1],
					       &file, time);
		}
		failed = failed ?: jp_ranges_clear(&process->files, file.start, file.end);
		process->nr_files--;
	}
	return failed;
}

static int add_file(struct jp_truth_collector *collector, struct jp_truth_process *process,
		    const struct jp_truth_file *file)
{
	const struct live_file live = {file->addr, file->addr + file->len,
				       collector->truth->nr_files};
	struct jp_truth *truth = collector->truth;
	struct jp_truth_file *added;

	if (++collector->files > JP_TRUTH_MOST_FILES)
		return -E2BIG;
	added = jp_array_push(&truth->files, &truth->nr_files, &collector->files_capacity);
	if (!added || (!process->files && !(process->files = jp_ranges_new_of_kind(&by_place))) ||
	    (!process->own_files && !(process->own_files = jp_ranges_new_of_kind(&by_place))))
		return -ENOMEM;
	*added = *file;
	added->order = truth->nr_files;
	process->nr_files++;
	return jp_ranges_put(&process->files, &live) ?: jp_ranges_put(&process->own_files, &live);
}

static int map_file(struct jp_truth_collector *collector, const struct jp_event *event)
{
	struct jp_process *process = jp_processes_at(&collector->processes, event->pid);
	struct jp_truth_process *own = (struct jp_truth_process *)process;
	const struct jp_truth_file file = {.pid = event->pid,
					   .maj = event->file.maj,
					   .min = event->file.min,
					   .ino = event->file.ino,
					   .addr = event->file.addr,
					   .len = event->file.len,
					   .from = event->after,
					   .until = UINT64_MAX,
					   .build_id = event->file.build_id,
					   .path = event->file.path};

	if (!process)
		return -ENOMEM;
	return end_files(collector, own, file.addr, file.len, event->before)
		       ?: add_file(collector, own, &file);
}

void jp_truth_drop_files(struct jp_truth_process *process)
{
	jp_ranges_free(process->files);
	jp_ranges_free(process->own_files);
	process->files = process->own_files = NULL;
	process->nr_files = process->inherited_file = 0;
}

void jp_truth_end_files(struct jp_truth_collector *collector, struct jp_truth_process *process,
			const struct jp_event *event)
{
	struct jp_truth *truth = collector->truth;
	const struct live_file *file =
		process->own_files ? jp_ranges_find_at_or_above(process->own_files, 0) : NULL;

	for (; file; file = jp_ranges_find_at_or_above(process->own_files, file->end))
		truth->files[file->file].until = event->before;
	if (process->inherited_file)
		truth->inherited[process->inherited_file - 1].until = event->before;
	jp_truth_drop_files(process);
}

int jp_truth_inherit_files(struct jp_truth_collector *collector, struct jp_truth_process *child,
			   const struct jp_truth_process *parent, const struct jp_event *event)
{
	struct jp_truth *truth = collector->truth;

	if (!parent->nr_files)
		return 0;
	collector->files += parent->nr_files;
	if (collector->files > JP_TRUTH_MOST_FILES)
		return -E2BIG;
	if (jp_array_append(&truth->inherited, &truth->nr_inherited, &collector->inherited_capacity,
			    (struct jp_truth_inherited){event->pid, event->after, UINT64_MAX,
							jp_ranges_share(parent->files)}))
		return -ENOMEM;
	child->files = jp_ranges_share(parent->files);
	child->nr_files = parent->nr_files;
	child->inherited_file = truth->nr_inherited;
	return 0;
}

int jp_truth_follow_file(struct jp_truth_collector *collector, const struct jp_event *event)
{
	struct jp_process *process;

	if (event->type == JP_EVENT_FILE)
		return map_file(collector, event);
	process = jp_processes_find(&collector->processes, event->pid);
	return process ? end_files(collector, (struct jp_truth_process *)process, event->map.addr,
				   event->map.len, event->before)
		       : 0;
}

/* Returns whether @code is in no mapped file although the truth states what unwinders find in its
 * file. */
static bool lacks_its_file(const struct jp_truth *truth, const struct jp_truth_code *code)
{
	return truth->version >= JP_TRUTH_VERSION_MAPS && !code->in_file && code->frames &&
	       code->frames->cfi_status != JP_CFI_NO_FILE && !code->frames->vdso;
}

int jp_truth_index_files(struct jp_truth *truth)
{
	const size_t count = truth->nr_files + truth->nr_inherited;
	int failed = 0;

	for (size_t i = 0; !failed && i < truth->nr_files; i++) {
		const struct jp_truth_file *file = &truth->files[i];
		const struct jp_box box = {file->addr, file->addr + file->len, file->from,
					   file->until};

		failed = jp_boxes_add(&truth->files_at, file->pid, &box, i);
	}
	for (size_t i = truth->nr_files; !failed && i < count; i++) {
		const struct jp_truth_inherited *inherited = &truth->inherited[i - truth->nr_files];
		const struct jp_box box = {0, UINT64_MAX, inherited->from, inherited->until};

		failed = jp_boxes_add(&truth->files_at, inherited->pid, &box, i);
	}
	jp_boxes_build(&truth->files_at);
	return failed;
}

void jp_truth_free_files(struct jp_truth *truth)
{
	for (size_t i = 0; i < truth->nr_inherited; i++)
		jp_ranges_free(truth->inherited[i].files);
	jp_boxes_free(&truth->files_at);
	free(truth->inherited);
	free(truth->files);
}

static bool find_next_inherited_file(const struct jp_truth *truth, const struct jp_box *box,
				     struct jp_truth_files_at *cursor, struct jp_truth_file *file)
{
	const struct live_file *one =
		jp_ranges_find_at_or_above(cursor->inherited->files, cursor->addr);

	if (!one || one->start >= box->end) {
		cursor->inherited = NULL;
		return false;
	}
	cursor->addr = one->end;
	*file = truth->files[one->file];
	file->pid = cursor->inherited->pid;
	file->from = cursor->inherited->from;
	file->until = cursor->inherited->until;
	file->order = 0;
	return true;
}

bool jp_truth_next_file(const struct jp_truth *truth, uint32_t pid, const struct jp_box *box,
			struct jp_truth_files_at *cursor, struct jp_truth_file *file)
{
	size_t i;

	do {
		if (cursor->inherited && find_next_inherited_file(truth, box, cursor, file))
			return true;
		if (!jp_boxes_find_next(&truth->files_at, pid, box, &cursor->cursor, &i))
			return false;
		if (i >= truth->nr_files) {
			cursor->inherited = &truth->inherited[i - truth->nr_files];
			cursor->addr = box->start;
		}
	} while (cursor->inherited);
	*file = truth->files[i];
	return true;
}

int jp_truth_find_files(struct jp_truth_collector *collector)
{
	struct jp_truth *truth = collector->truth;
	const int failed = jp_truth_index_files(truth);

	for (size_t i = 0; i < truth->nr_codes; i++) {
		struct jp_truth_code *code = &truth->codes[i];
		const struct jp_box box = {code->addr, code->addr + 1, code->loaded + 1,
					   code->unloaded - 1};
		struct jp_truth_files_at cursor = {0};
		struct jp_truth_file file;

		code->in_file = jp_truth_next_file(truth, code->pid, &box, &cursor, &file);
		if (lacks_its_file(truth, code))
			jp_truth_count_contradiction(truth);
	}
	return failed;
}
