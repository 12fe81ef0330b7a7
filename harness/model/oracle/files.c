// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/collect.h"

#include <errno.h>

#include "harness/base/boxes.h"

/* A file that is mapped, by place. */
struct live_file {
	uint64_t start, end;
	size_t file; /* index */
};

static const struct jp_range_kind by_place = {.size = sizeof(struct live_file)};

/* The files of @process that lie in [@addr, @addr + @len) are gone, as a whole. 0 or -ENOMEM. */
static int end(struct jp_truth *truth, struct jp_truth_process *process, uint64_t addr,
	       uint64_t len, uint64_t time)
{
	const struct live_file *one;

	while (process->files && (one = jp_ranges_from(process->files, addr)) &&
	       one->start < addr + len) {
		truth->files[one->file].until = time;
		if (jp_ranges_clear(&process->files, one->start, one->end))
			return -ENOMEM;
	}
	return 0;
}

static int add(struct jp_truth_collector *collector, struct jp_truth_process *process,
	       const struct jp_truth_file *file)
{
	const struct live_file live = {file->addr, file->addr + file->len,
				       collector->truth->nr_files};
	struct jp_truth *truth = collector->truth;
	struct jp_truth_file *added;

	if (truth->nr_files >= JP_TRUTH_MOST_FILES)
		return -E2BIG;
	added = jp_array_push(&truth->files, &truth->nr_files, &collector->files_capacity);
	if (!added || (!process->files && !(process->files = jp_ranges_of(&by_place))))
		return -ENOMEM;
	*added = *file;
	return jp_ranges_put(&process->files, &live);
}

static int take(struct jp_truth_collector *collector, const struct jp_event *event)
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
	return end(collector->truth, own, file.addr, file.len, event->before)
		       ?: add(collector, own, &file);
}

int jp_truth_end_files(struct jp_truth_collector *collector, struct jp_truth_process *process,
		       const struct jp_event *event)
{
	return end(collector->truth, process, 0, UINT64_MAX, event->before);
}

int jp_truth_inherit_files(struct jp_truth_collector *collector, struct jp_truth_process *child,
			   const struct jp_truth_process *parent, const struct jp_event *event)
{
	const struct live_file *one = parent->files ? jp_ranges_from(parent->files, 0) : NULL;
	int ret = 0;

	for (; one && !ret; one = jp_ranges_from(parent->files, one->end)) {
		struct jp_truth_file file = collector->truth->files[one->file];

		file.pid = event->pid;
		file.from = event->after;
		ret = add(collector, child, &file);
	}
	return ret;
}

int jp_truth_follow_file(struct jp_truth_collector *collector, const struct jp_event *event)
{
	struct jp_process *process;

	if (event->type == JP_EVENT_FILE)
		return take(collector, event);
	process = jp_processes_find(&collector->processes, event->pid);
	return process ? end(collector->truth, (struct jp_truth_process *)process, event->map.addr,
			     event->map.len, event->before)
		       : 0;
}

/* Whether @code, of which the truth says what unwinders find in its file, is in none. */
static bool lacks_its_file(const struct jp_truth *truth, const struct jp_truth_code *code)
{
	return truth->version >= JP_TRUTH_VERSION_MAPS && !code->in_file && code->frames &&
	       code->frames->cfi_status != JP_CFI_NO_FILE && !code->frames->vdso;
}

int jp_truth_find_files(struct jp_truth_collector *collector)
{
	struct jp_truth *truth = collector->truth;
	struct jp_boxes boxes = {0};
	int failed = 0;

	for (size_t i = 0; !failed && i < truth->nr_files; i++) {
		const struct jp_truth_file *file = &truth->files[i];
		const struct jp_box box = {file->addr, file->addr + file->len, file->from,
					   file->until};

		failed = jp_boxes_add(&boxes, file->pid, &box, i);
	}
	jp_boxes_build(&boxes);
	for (size_t i = 0; i < truth->nr_codes; i++) {
		struct jp_truth_code *code = &truth->codes[i];
		const struct jp_box box = {code->addr, code->addr + 1, code->loaded + 1,
					   code->unloaded - 1};
		size_t at = 0, item;

		code->in_file = jp_boxes_next(&boxes, code->pid, &box, &at, &item);
		if (lacks_its_file(truth, code))
			jp_truth_contradicts(truth);
	}
	jp_boxes_free(&boxes);
	return failed;
}
