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
				 const struct thread_past *past)
{
	const uint64_t ran = record->after - past->entered;

	return past->last && past->last->type == JP_TRUTH_LEAVE &&
	       past->last->leave.cpu > ran + ran / 1000;
}

static bool is_in_order(const struct jp_truth_record *record, const struct thread_past *past)
{
	const uint8_t act_traits = traits[record->type];

	/* A thread never writes two equal records. */
	if (past->last && !memcmp(record, past->last, sizeof(*record)))
		return false;
	if (act_traits & INSTANT && record->before != record->after)
		return false;
	if (act_traits & NO_ACT)
		return record->before >= past->nr_records;
	if (act_traits & AFTER_TEXT)
		return record->before >= past->acts && past->last &&
		       past->last->type == JP_TRUTH_TEXT && record->after <= past->last->before;
	if (act_traits & WRAPS)
		return record->before >= past->other_acts && record->after >= past->memory;
	/* The text record with the mapping's name comes first. */
	if (record->type == JP_TRUTH_MAP)
		return record->before >= past->acts;
	/* No record states when a wait began, only that the previous wait was over. */
	if (record->type == JP_TRUTH_WAIT)
		return record->before >= past->waits && record->after >= past->nr_records &&
		       record->wait.handled >= record->before &&
		       record->wait.handled <= record->after;
	/* The exit record of a killed process may begin before earlier records of its writer. */
	if (record->type == JP_TRUTH_PROCESS_EXIT)
		return record->after >= past->nr_records;
	return record->before >= past->nr_records || shares_bracket(record, past->last);
}

static void update_past(struct thread_past *past, const struct jp_truth_record *record)
{
	const uint8_t act_traits = traits[record->type];

	past->nr_records = jp_max(past->nr_records, record->after);
	if (record->type == JP_TRUTH_ENTER)
		past->entered = record->before;
	if (!(act_traits & NO_ACT))
		past->acts = jp_max(past->acts, record->after);
	if (act_traits & MEMORY)
		past->memory = jp_max(past->memory, record->after);
	if (act_traits & BETWEEN)
		past->other_acts = jp_max(past->other_acts, record->after);
	if (record->type == JP_TRUTH_WAIT)
		past->waits = record->after;
	past->last = record;
}

int jp_truth_count_disorder(struct jp_truth_reader *reader)
{
	const struct jp_truth_items *items = reader->items;
	struct jp_map threads = {0};
	int ret = 0;

	for (size_t i = 0; !ret && i < items->nr_records; i++) {
		const struct jp_truth_record *record = items->records[i];
		struct thread_past *past = jp_map_at(
			&threads, (uint64_t)record->pid << 32 | record->tid, sizeof(*past));

		if (!past) {
			ret = -ENOMEM;
			continue;
		}
		reader->disorder += !is_in_order(record, past);
		reader->overspent += exceeds_elapsed_time(record, past);
		update_past(past, record);
	}
	jp_map_free(&threads);
	return ret;
}
