// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/truth/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A bound for what a hostile file may make us build from few records. */
enum { MAX_FILES = 1 << 22, MAX_STEPS = 1 << 26 };

struct files {
	struct jp_truth *truth;
	uint32_t *next; /* of the same process, index + 1 */
	size_t capacity, next_capacity, steps;
	struct jp_truth_map heads; /* pid -> index + 1 of its newest */
};

static int add(struct files *files, const struct jp_truth_file *file)
{
	struct jp_truth *truth = files->truth;
	uint32_t *head = jp_truth_map_at(&files->heads, file->pid);

	if (truth->nr_files >= MAX_FILES)
		return -E2BIG;
	if (!head ||
	    !jp_truth_grow((void **)&truth->files, &files->capacity, truth->nr_files,
			   sizeof(*file)) ||
	    !jp_truth_grow((void **)&files->next, &files->next_capacity, truth->nr_files,
			   sizeof(*files->next)))
		return -ENOMEM;
	truth->files[truth->nr_files] = *file;
	files->next[truth->nr_files] = *head;
	*head = ++truth->nr_files;
	return 0;
}

/* "BUILDID PATH" */
static int take(struct files *files, const struct jp_truth_record *record)
{
	const char *text = jp_truth_text_of(files->truth, record->a[3] & UINT32_MAX);
	const char *blank = text ? strchr(text, ' ') : NULL;
	uint32_t device = record->a[3] >> 32;

	if (!blank || !record->a[1] || record->a[0] + record->a[1] < record->a[0]) {
		jp_truth_mark_corrupt(files->truth);
		return 0;
	}
	return add(files, &(struct jp_truth_file){.pid = record->pid,
						  .maj = device >> 20,
						  .min = device & 0xfffff,
						  .ino = record->a[2],
						  .addr = record->a[0],
						  .len = record->a[1],
						  .from = record->after,
						  .until = UINT64_MAX,
						  .build_id = text,
						  .path = blank + 1});
}

/* What @pid has in [@addr, @addr + @len) ends; @len 0: all of it. */
static int end(struct files *files, uint32_t pid, uint64_t addr, uint64_t len, uint64_t time)
{
	uint32_t *at = jp_truth_map_at(&files->heads, pid);

	if (!at)
		return -ENOMEM;
	while (*at) {
		struct jp_truth_file *file = &files->truth->files[*at - 1];

		if (++files->steps > MAX_STEPS)
			return -E2BIG;
		if (!len || (file->addr < addr + len && addr < file->addr + file->len)) {
			file->until = time;
			*at = files->next[*at - 1];
		} else {
			at = &files->next[*at - 1];
		}
	}
	return 0;
}

static int start(struct files *files, const struct jp_truth_record *record)
{
	uint32_t *head;
	int ret = end(files, record->pid, 0, 0, record->before);

	if (ret || record->a[1] == JP_HOW_LAUNCH || record->a[1] == JP_HOW_EXEC ||
	    record->a[0] == record->pid)
		return ret;
	head = jp_truth_map_at(&files->heads, record->a[0]);
	for (uint32_t at = head ? *head : 0; at && !ret; at = files->next[at - 1]) {
		struct jp_truth_file file = files->truth->files[at - 1];

		file.pid = record->pid;
		file.from = record->after;
		ret = add(files, &file);
	}
	return head ? ret : -ENOMEM;
}

int jp_truth_build_files(struct jp_truth *truth)
{
	struct files files = {.truth = truth};
	int ret = 0;

	for (size_t i = 0; i < truth->tables->nr_believed && !ret; i++) {
		const struct jp_truth_record *record = truth->tables->believed[i];

		switch (record->type) {
		case JP_TRUTH_FILE:
			ret = take(&files, record);
			break;
		case JP_TRUTH_PROCESS_START:
			ret = start(&files, record);
			break;
		case JP_TRUTH_PROCESS_EXIT:
			ret = end(&files, record->pid, 0, 0, record->before);
			break;
		case JP_TRUTH_MAP:
		case JP_TRUTH_REMAP:
		case JP_TRUTH_UNMAP:
			if (record->a[1] && record->a[0] + record->a[1] > record->a[0])
				ret = end(&files, record->pid, record->a[0], record->a[1],
					  record->before);
			break;
		default:
			break;
		}
	}
	free(files.next);
	jp_truth_map_free(&files.heads);
	return ret;
}
