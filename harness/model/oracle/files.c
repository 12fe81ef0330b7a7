// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/collect.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/cleanup.h"
#include "harness/base/search.h"

/* A file among those of its process, by place. */
struct placed_file {
	const struct jp_truth_file *file;
	uint64_t reach; /* the largest end of it and of those before it */
};

static int add(struct jp_truth_collector *collector, struct jp_truth_process *process,
	       const struct jp_truth_file *file)
{
	struct jp_truth *truth = collector->truth;

	if (truth->nr_files >= JP_TRUTH_MOST_FILES)
		return -E2BIG;
	if (!jp_array_reserve(&collector->next_file, &collector->next_file_capacity,
			      truth->nr_files + 1) ||
	    !jp_array_reserve(&truth->files, &collector->files_capacity, truth->nr_files + 1))
		return -ENOMEM;
	truth->files[truth->nr_files] = *file;
	collector->next_file[truth->nr_files] = process->files;
	process->files = ++truth->nr_files;
	return 0;
}

static int take(struct jp_truth_collector *collector, const struct jp_event *event)
{
	struct jp_process *process = jp_processes_at(&collector->processes, event->pid);

	return !process ? -ENOMEM
			: add(collector, (struct jp_truth_process *)process,
			      &(struct jp_truth_file){.pid = event->pid,
						      .maj = event->file.maj,
						      .min = event->file.min,
						      .ino = event->file.ino,
						      .addr = event->file.addr,
						      .len = event->file.len,
						      .from = event->after,
						      .until = UINT64_MAX,
						      .build_id = event->file.build_id,
						      .path = event->file.path});
}

/* What @process has in [@addr, @addr + @len) ends; @len 0: all of it. */
static int end(struct jp_truth_collector *collector, struct jp_truth_process *process,
	       uint64_t addr, uint64_t len, uint64_t time)
{
	uint32_t *at = &process->files;

	while (*at) {
		struct jp_truth_file *file = &collector->truth->files[*at - 1];

		if (++collector->steps > JP_TRUTH_MOST_STEPS)
			return -E2BIG;
		if (!len || (file->addr < addr + len && addr < file->addr + file->len)) {
			file->until = time;
			*at = collector->next_file[*at - 1];
		} else {
			at = &collector->next_file[*at - 1];
		}
	}
	return 0;
}

int jp_truth_end_files(struct jp_truth_collector *collector, struct jp_truth_process *process,
		       const struct jp_event *event)
{
	return end(collector, process, 0, 0, event->before);
}

int jp_truth_inherit_files(struct jp_truth_collector *collector, struct jp_truth_process *child,
			   const struct jp_truth_process *parent, const struct jp_event *event)
{
	int ret = 0;

	for (uint32_t at = parent->files; at && !ret; at = collector->next_file[at - 1]) {
		struct jp_truth_file file = collector->truth->files[at - 1];

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
	return process ? end(collector, (struct jp_truth_process *)process, event->map.addr,
			     event->map.len, event->before)
		       : 0;
}

static int by_place(const void *left, const void *right)
{
	const struct jp_truth_file *a = ((const struct placed_file *)left)->file;
	const struct jp_truth_file *b = ((const struct placed_file *)right)->file;

	return jp_compare(a->pid, b->pid) ?: jp_compare(a->addr, b->addr);
}

/* All files of @truth by process and place; NULL: no memory. */
static struct placed_file *place(const struct jp_truth *truth)
{
	struct placed_file *placed = calloc(truth->nr_files + 1, sizeof(*placed));
	uint64_t reach = 0;

	for (size_t i = 0; placed && i < truth->nr_files; i++)
		placed[i].file = &truth->files[i];
	if (placed)
		qsort(placed, truth->nr_files, sizeof(*placed), by_place);
	for (size_t i = 0; placed && i < truth->nr_files; i++) {
		const struct jp_truth_file *file = placed[i].file;

		if (!i || file->pid != placed[i - 1].file->pid)
			reach = 0;
		if (reach < file->addr + file->len)
			reach = file->addr + file->len;
		placed[i].reach = reach;
	}
	return placed;
}

int jp_truth_find_files(struct jp_truth_collector *collector)
{
	struct jp_truth *truth = collector->truth;
	jp_cleanup_free struct placed_file *placed = place(truth);

	if (!placed)
		return -ENOMEM;
	for (size_t i = 0; i < truth->nr_codes; i++) {
		struct jp_truth_code *code = &truth->codes[i];
		size_t at;

		jp_search(at, truth->nr_files,
			  placed[at].file->pid < code->pid ||
				  (placed[at].file->pid == code->pid &&
				   placed[at].file->addr <= code->addr));
		for (; at && !code->in_file && placed[at - 1].file->pid == code->pid &&
		       placed[at - 1].reach > code->addr;
		     at--) {
			const struct jp_truth_file *file = placed[at - 1].file;

			if (++collector->steps > JP_TRUTH_MOST_STEPS)
				return -E2BIG;
			code->in_file = code->addr - file->addr < file->len &&
					file->from < code->unloaded && file->until > code->loaded;
		}
	}
	return 0;
}
