// SPDX-License-Identifier: GPL-2.0-only
/* Counts records that are out of order within their thread. A thread writes each record when the
 * act is over. So its records are in the file in the order of its acts, and their brackets do not
 * overlap. Slots of different threads can be in any order. */
#include "harness/format/truth/order.h"

#include <errno.h>
#include <string.h>

#include "harness/base/map.h"
#include "harness/base/order.h"
#include "harness/format/truth/items.h"

enum {
	INSTANT = 1,    /* @before equals @after: the act has no duration */
	NO_ACT = 2,     /* not an act, but data such as the text of the next record */
	AFTER_TEXT = 4, /* its bracket ends before its text, the previous record, is written */
	WRAPS = 8, /* an act on code: its record is written last, and its bracket contains those of
		      acts on memory */
	BETWEEN = 16, /* its time never lies within the bracket of another record */
	MEMORY = 32,  /* an act on memory: its bracket ends before the record of its code is written
		       */
};

static const uint8_t traits[JP_TRUTH_TYPES] = {
	[JP_TRUTH_TEXT] = INSTANT | NO_ACT,
	[JP_TRUTH_LAYOUT] = INSTANT | NO_ACT,
	[JP_TRUTH_PATH] = INSTANT | NO_ACT,
	[JP_TRUTH_ROOT] = INSTANT | NO_ACT,
	[JP_TRUTH_FRAMES] = INSTANT | NO_ACT,
	[JP_TRUTH_MAP] = MEMORY,
	[JP_TRUTH_PROTECT] = MEMORY,
	[JP_TRUTH_REMAP] = MEMORY,
	[JP_TRUTH_UNMAP] = MEMORY,
	[JP_TRUTH_CODE_LOAD] = WRAPS,
	[JP_TRUTH_CODE_MOVE] = WRAPS,
	[JP_TRUTH_CODE_UNLOAD] = WRAPS,
	[JP_TRUTH_COMM] = AFTER_TEXT,
	[JP_TRUTH_MAPS] = AFTER_TEXT,
	[JP_TRUTH_MARK] = AFTER_TEXT | BETWEEN,
	[JP_TRUTH_FILE] = INSTANT | AFTER_TEXT | BETWEEN,
	[JP_TRUTH_ENTER] = INSTANT | BETWEEN,
	[JP_TRUTH_LEAVE] = INSTANT | BETWEEN,
	[JP_TRUTH_WAIT] = BETWEEN,
	[JP_TRUTH_THREAD_EXIT] = INSTANT | BETWEEN,
	[JP_TRUTH_PROCESS_EXIT] = BETWEEN,
	[JP_TRUTH_GONE] = INSTANT | BETWEEN,
};

/* State of a thread according to its records so far. */
struct thread_past {
	/* Latest end (@after) among all records, and among those with each trait or type. */
	uint64_t nr_records, acts, memory, other_acts, waits;
	uint64_t entered; /* start of its last activation */
	const struct jp_truth_record *last;
};

/* Returns whether @record has the bracket of @last, as the acts of workloads/storm.c do, which are
 * not timed one by one. */
static bool shares_bracket(const struct jp_truth_record *record, const struct jp_truth_record *last)
{
	return last && last->type != record->type && last->before == record->before &&
	       last->after == record->after;
}

/* Returns whether the activation that @record ends used more CPU time than passed since its start.
 * NTP's frequency and slewing can each slow CLOCK_MONOTONIC by 500 ppm (MAXFREQ in
 * include/linux/timex.h), but not CPU time. */
static bool exceeds_elapsed_time(const struct jp_truth_record *record,
				 const struct thread_past *history)
{
	const uint64_t ran = record->after - history->entered;

	return history->last && history->last->type == JP_TRUTH_LEAVE &&
	       history->last->leave.cpu > ran + ran / 1000;
}

static bool is_in_order(const struct jp_truth_record *record, const struct thread_past *history)
{
	const uint8_t act_traits = traits[record->type];

	/* A thread never writes two equal records. */
	if (history->last && !memcmp(record, history->last, sizeof(*record)))
		return false;
	if (act_traits & INSTANT && record->before != record->after)
		return false;
	if (act_traits & NO_ACT)
		return record->before >= history->nr_records;
	if (act_traits & AFTER_TEXT)
		return record->before >= history->acts && history->last &&
		       history->last->type == JP_TRUTH_TEXT &&
		       record->after <= history->last->before;
	if (act_traits & WRAPS)
		return record->before >= history->other_acts && record->after >= history->memory;
	/* The text record with the mapping's name comes first. */
	if (record->type == JP_TRUTH_MAP)
		return record->before >= history->acts;
	/* No record states when a wait began, only that the previous wait was over. */
	if (record->type == JP_TRUTH_WAIT)
		return record->before >= history->waits && record->after >= history->nr_records &&
		       record->wait.handled >= record->before &&
		       record->wait.handled <= record->after;
	/* The exit record of a killed process may begin before earlier records of its writer. */
	if (record->type == JP_TRUTH_PROCESS_EXIT)
		return record->after >= history->nr_records;
	return record->before >= history->nr_records || shares_bracket(record, history->last);
}

static void update_past(struct thread_past *history, const struct jp_truth_record *record)
{
	const uint8_t act_traits = traits[record->type];

	history->nr_records = jp_max(history->nr_records, record->after);
	if (record->type == JP_TRUTH_ENTER)
		history->entered = record->before;
	if (!(act_traits & NO_ACT))
		history->acts = jp_max(history->acts, record->after);
	if (act_traits & MEMORY)
		history->memory = jp_max(history->memory, record->after);
	if (act_traits & BETWEEN)
		history->other_acts = jp_max(history->other_acts, record->after);
	if (record->type == JP_TRUTH_WAIT)
		history->waits = record->after;
	history->last = record;
}

/*
 * Counts starts and exits of threads and processes that do not pair up. After its start record a
 * task writes its name, a new image then its FILE, and no task writes anything after its exit
 * record. Each process that starts exits, and the process that waits for it records how: killed, or
 * GONE after its own exit record. A task leaves emitted code before it writes its exit. Exits of
 * threads may be missing: the end of the process can end a thread, and a thread can still exist
 * after pthread_join(), which returns early.
 */
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

struct checked_thread {
	struct thread_past past;
	struct paired_thread paired;
};

struct pairing {
	struct jp_map threads, processes; /* struct checked_thread; struct paired_process */
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
	const struct checked_thread *thread;
	uint64_t key;

	for (size_t cursor = 0; (process = jp_map_next(&pairing->processes, &cursor, NULL));)
		reader->unpaired += !is_paired(pairing, process);
	for (size_t cursor = 0; (thread = jp_map_next(&pairing->threads, &cursor, &key));)
		reader->unpaired += thread->paired.expected ||
				    (key >> 32 != (uint32_t)key &&
				     thread->paired.nr_gone > thread->paired.nr_exits);
}

static int follow_record(struct jp_truth_reader *reader, struct pairing *pairing,
			 const struct jp_truth_record *record)
{
	struct checked_thread *thread = jp_map_at(
		&pairing->threads, (uint64_t)record->pid << 32 | record->tid, sizeof(*thread));
	struct paired_process *process =
		jp_map_at(&pairing->processes, record->pid, sizeof(*process));

	if (!thread || !process)
		return -ENOMEM;
	reader->disorder += !is_in_order(record, &thread->past);
	reader->overspent += exceeds_elapsed_time(record, &thread->past);
	update_past(&thread->past, record);
	reader->unpaired += !update_thread(&thread->paired, record);
	update_process(process, record);
	return 0;
}

int jp_truth_check_order(struct jp_truth_reader *reader)
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
