// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts starts and exits of threads and processes that do not pair up. After its start record a
 * task writes its name, a new image then its FILE, and no task writes anything after its exit
 * record. Each process that starts exits, and the process that waits for it records how: killed, or
 * GONE after its own exit record. A task leaves emitted code before it writes its exit. Exits of
 * threads may be missing: the end of the process can end a thread, and a thread can still exist
 * after pthread_join(), which returns early.
 */
#include "harness/format/truth/order.h"

#include <errno.h>

#include "harness/base/map.h"
#include "harness/format/truth/items.h"

struct paired_thread {
	bool alive, image;          /* whether its last start was an exec or a launch */
	bool in_activation;         /* whether it is in an activation */
	uint16_t expected;          /* record type that it must write next; 0: any */
	uint64_t nr_exits, nr_gone; /* @nr_exits: exits in its own records; @nr_gone: GONE records
				 written by other threads */
};

/* Counts over all processes that had the same pid. */
struct paired_process {
	uint64_t starts, execs, exits, killed, nr_gone;
	uint32_t parent, start_kind; /* facts of its last start record */
};

struct pairing {
	struct jp_map threads, processes;
};

/* Returns whether @record is the exit of a killed process, written by another process. A process's
 * own exit record has no duration. */
static bool is_killed(const struct jp_truth_record *record)
{
	return record->type == JP_TRUTH_PROCESS_EXIT && record->before < record->after;
}

static bool is_item(const struct jp_truth_record *record)
{
	return record->type == JP_TRUTH_TEXT || record->type == JP_TRUTH_LAYOUT ||
	       record->type == JP_TRUTH_PATH || record->type == JP_TRUTH_ROOT ||
	       record->type == JP_TRUTH_FRAMES;
}

/* Updates @thread with @record. Returns whether the record may follow the thread's earlier ones. */
static bool update_thread(struct paired_thread *thread, const struct jp_truth_record *record)
{
	bool is_right = !thread->expected || record->type == thread->expected;

	if (is_item(record))
		return true;
	if (record->type == JP_TRUTH_GONE) {
		thread->nr_gone++;
		return true;
	}
	if (is_killed(record)) {
		*thread = (struct paired_thread){.nr_exits = thread->nr_exits,
						 .nr_gone = thread->nr_gone};
		return true;
	}
	if (record->type == JP_TRUTH_PROCESS_START || record->type == JP_TRUTH_THREAD_START) {
		thread->alive = true;
		thread->image = record->type == JP_TRUTH_PROCESS_START &&
				(record->start.start_kind == JP_START_LAUNCH ||
				 record->start.start_kind == JP_START_EXEC);
		thread->expected = JP_TRUTH_COMM;
	} else {
		thread->expected =
			thread->image && record->type == JP_TRUTH_COMM ? JP_TRUTH_FILE : 0;
	}
	is_right &= thread->alive;
	if (record->type == JP_TRUTH_ENTER || record->type == JP_TRUTH_LEAVE)
		thread->in_activation = record->type == JP_TRUTH_ENTER;
	if (record->type == JP_TRUTH_THREAD_EXIT || record->type == JP_TRUTH_PROCESS_EXIT) {
		is_right &= !thread->in_activation;
		thread->alive = false;
		thread->nr_exits += record->type == JP_TRUTH_THREAD_EXIT;
	}
	return is_right;
}

static void update_process(struct paired_process *process, const struct jp_truth_record *record)
{
	switch (record->type) {
	case JP_TRUTH_PROCESS_START:
		if (record->start.start_kind == JP_START_EXEC) {
			process->execs++;
			/* The only start record of a pid may be an exec: its parent stays the
			 * same. */
			if (process->starts || process->execs > 1)
				return;
		} else {
			process->starts++;
		}
		process->parent = record->start.parent;
		process->start_kind = record->start.start_kind;
		return;
	case JP_TRUTH_PROCESS_EXIT:
		process->exits += !is_killed(record);
		process->killed += is_killed(record);
		return;
	case JP_TRUTH_GONE:
		process->nr_gone += record->pid == record->tid;
		return;
	default:
		return;
	}
}

/* Returns whether all processes of a pid have their exits, and the records of the parents that
 * waited for them. */
static bool is_paired(const struct pairing *pairing, const struct paired_process *process)
{
	const uint64_t starts = process->starts ?: process->execs != 0;
	const struct paired_process *parent = jp_map_find(&pairing->processes, process->parent);

	if (process->nr_gone > process->exits || process->exits + process->killed > starts)
		return false;
	/* A launched process's waiting parent is not in the truth. */
	if (process->start_kind == JP_START_LAUNCH)
		return process->exits == starts && !process->nr_gone;
	/* A killed parent does not wait. */
	if (!parent || !parent->exits)
		return true;
	/* In a pid namespace, the outer pid of a child that shares its parent's memory is
	 * unknown. */
	return process->exits + process->killed == starts &&
	       (process->nr_gone == process->exits || process->start_kind == JP_START_SHARE);
}

static void count_unpaired_starts(struct jp_truth_reader *reader, const struct pairing *pairing)
{
	const struct paired_process *process;
	const struct paired_thread *thread;
	uint64_t key;

	for (size_t cursor = 0; (process = jp_map_next(&pairing->processes, &cursor, NULL));)
		reader->unpaired += !is_paired(pairing, process);
	for (size_t cursor = 0; (thread = jp_map_next(&pairing->threads, &cursor, &key));)
		reader->unpaired += thread->expected || (key >> 32 != (uint32_t)key &&
							 thread->nr_gone > thread->nr_exits);
}

static int follow_record(struct jp_truth_reader *reader, struct pairing *pairing,
			 const struct jp_truth_record *record)
{
	struct paired_thread *thread =
		jp_map_at(&pairing->threads, (uint64_t)record->pid << 32 | record->tid,
			  sizeof(struct paired_thread));
	struct paired_process *process =
		jp_map_at(&pairing->processes, record->pid, sizeof(*process));

	if (!thread || !process)
		return -ENOMEM;
	reader->unpaired += !update_thread(thread, record);
	update_process(process, record);
	return 0;
}

int jp_truth_count_unpaired(struct jp_truth_reader *reader)
{
	const struct jp_truth_items *items = reader->items;
	struct pairing pairing = {0};
	int ret = 0;

	for (size_t i = 0; !ret && i < items->nr_records; i++)
		ret = follow_record(reader, &pairing, items->records[i]);
	if (!ret)
		count_unpaired_starts(reader, &pairing);
	jp_map_free(&pairing.threads);
	jp_map_free(&pairing.processes);
	return ret;
}
