// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who begins tells its name next, an image its own text then, and nobody anything of itself once it
 * told of its end. Each process that began ends, and who waits for it tells what became of it: that
 * it was killed, or that it is gone after its own word. A thread may be taken away by the end of
 * its process, or be there still when it was joined (pthread_join() returns early): of those nobody
 * tells.
 */
#include "harness/format/truth/order.h"

#include <errno.h>

#include "harness/base/map.h"
#include "harness/format/truth/items.h"

struct told_thread {
	bool lives, image;   /* of an exec or a launch */
	uint16_t owes;       /* the type of what it must write next; 0: any */
	uint64_t ends, gone; /* by its own word; as others saw it */
};

/* Of all processes that had a pid: how many began and ended. */
struct told_process {
	uint64_t starts, execs, ends, killed, gone;
	uint32_t parent, how; /* of the last start */
};

struct lives {
	struct jp_map threads, processes;
};

static struct told_thread *thread_of(struct lives *lives, const struct jp_truth_record *record)
{
	return jp_map_at(&lives->threads, (uint64_t)record->pid << 32 | record->tid,
			 sizeof(struct told_thread));
}

/* Who tells of its own end takes no time for it. */
static bool is_killed(const struct jp_truth_record *record)
{
	return record->type == JP_TRUTH_PROCESS_EXIT && record->before < record->after;
}

static bool is_image(const struct jp_truth_record *record)
{
	return record->type == JP_TRUTH_PROCESS_START &&
	       (record->start.how == JP_HOW_LAUNCH || record->start.how == JP_HOW_EXEC);
}

static bool is_start(const struct jp_truth_record *record)
{
	return record->type == JP_TRUTH_PROCESS_START || record->type == JP_TRUTH_THREAD_START;
}

static bool is_item(const struct jp_truth_record *record)
{
	return record->type == JP_TRUTH_TEXT || record->type == JP_TRUTH_LAYOUT ||
	       record->type == JP_TRUTH_PATH || record->type == JP_TRUTH_ROOT ||
	       record->type == JP_TRUTH_FRAMES;
}

/* Whether @record may follow what its thread wrote before. */
static bool follow_thread(struct told_thread *thread, const struct jp_truth_record *record)
{
	bool right = !thread->owes || record->type == thread->owes;

	if (is_item(record))
		return true;
	if (record->type == JP_TRUTH_GONE) {
		thread->gone++;
		return true;
	}
	if (is_killed(record)) {
		*thread = (struct told_thread){.ends = thread->ends, .gone = thread->gone};
		return true;
	}
	if (is_start(record)) {
		thread->lives = true;
		thread->image = is_image(record);
		thread->owes = JP_TRUTH_COMM;
	} else {
		thread->owes = thread->image && record->type == JP_TRUTH_COMM ? JP_TRUTH_FILE : 0;
	}
	right &= thread->lives;
	if (record->type == JP_TRUTH_THREAD_EXIT || record->type == JP_TRUTH_PROCESS_EXIT) {
		thread->lives = false;
		thread->ends += record->type == JP_TRUTH_THREAD_EXIT;
	}
	return right;
}

static void follow_process(struct told_process *process, const struct jp_truth_record *record)
{
	switch (record->type) {
	case JP_TRUTH_PROCESS_START:
		if (record->start.how == JP_HOW_EXEC) {
			process->execs++;
			/* That may be all that is told of one: its parent stays. */
			if (process->starts || process->execs > 1)
				return;
		} else {
			process->starts++;
		}
		process->parent = record->start.parent;
		process->how = record->start.how;
		return;
	case JP_TRUTH_PROCESS_EXIT:
		process->ends += !is_killed(record);
		process->killed += is_killed(record);
		return;
	case JP_TRUTH_GONE:
		process->gone += record->pid == record->tid;
		return;
	default:
		return;
	}
}

/* Whether all of a pid's processes have their ends, and those whoever waited for them. */
static bool is_paired(const struct lives *lives, const struct told_process *process)
{
	const uint64_t starts = process->starts ?: process->execs != 0;
	const struct told_process *parent = jp_map_find(&lives->processes, process->parent);

	if (process->gone > process->ends || process->ends + process->killed > starts)
		return false;
	/* No other process of the truth waits for what was launched. */
	if (process->how == JP_HOW_LAUNCH)
		return process->ends == starts && !process->gone;
	/* Who was killed waited for nobody. */
	if (!parent || !parent->ends)
		return true;
	/* In a namespace nobody knows the outer pid of one that shares its parent's memory. */
	return process->ends + process->killed == starts &&
	       (process->gone == process->ends || process->how == JP_HOW_SHARE);
}

static void count(struct jp_truth_reader *reader, const struct lives *lives)
{
	const struct told_process *process;
	const struct told_thread *thread;
	uint64_t key;

	for (size_t at = 0; (process = jp_map_next(&lives->processes, &at, NULL));)
		reader->unpaired += !is_paired(lives, process);
	for (size_t at = 0; (thread = jp_map_next(&lives->threads, &at, &key));)
		reader->unpaired +=
			thread->owes || (key >> 32 != (uint32_t)key && thread->gone > thread->ends);
}

static int follow(struct jp_truth_reader *reader, struct lives *lives,
		  const struct jp_truth_record *record)
{
	struct told_thread *thread = thread_of(lives, record);
	struct told_process *process = jp_map_at(&lives->processes, record->pid, sizeof(*process));

	if (!thread || !process)
		return -ENOMEM;
	reader->unpaired += !follow_thread(thread, record);
	follow_process(process, record);
	return 0;
}

int jp_truth_count_unpaired(struct jp_truth_reader *reader)
{
	const struct jp_truth_items *items = reader->items;
	struct lives lives = {0};
	int ret = 0;

	for (size_t i = 0; !ret && i < items->nr_believed; i++)
		ret = follow(reader, &lives, items->believed[i]);
	if (!ret)
		count(reader, &lives);
	jp_map_free(&lives.threads);
	jp_map_free(&lives.processes);
	return ret;
}
