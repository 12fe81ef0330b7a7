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

int jp_truth_count_disorder(struct jp_truth_reader *reader)
{
	const struct jp_truth_items *items = reader->items;
	struct jp_map threads = {0};
	int ret = 0;

	for (size_t i = 0; !ret && i < items->nr_records; i++) {
		const struct jp_truth_record *record = items->records[i];
		struct thread_past *history = jp_map_at(
			&threads, (uint64_t)record->pid << 32 | record->tid, sizeof(*history));

		if (!history) {
			ret = -ENOMEM;
			continue;
		}
		reader->disorder += !is_in_order(record, history);
		reader->overspent += exceeds_elapsed_time(record, history);
		update_past(history, record);
	}
	jp_map_free(&threads);
	return ret;
}
