// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread does one thing after another, and writes each down when it is done: its records stand in
 * the file in that order, and their brackets do not overlap. So each record bounds those before and
 * behind it. Who took slots first among several threads says nothing.
 */
#include "harness/format/truth/order.h"

#include <errno.h>
#include <string.h>

#include "harness/base/map.h"
#include "harness/base/order.h"
#include "harness/format/truth/items.h"

enum {
	INSTANT = 1,    /* begins and ends at one time */
	NO_ACT = 2,     /* tells of something, such as the text of the record behind it */
	AFTER_TEXT = 4, /* is over before its text is written, which stands right before it */
	WRAPS = 8,      /* of code: told when all is done, with acts on memory within its bracket */
	BETWEEN = 16,   /* never within the bracket of another */
	MEMORY = 32,    /* an act on memory: code that it is for is told when it is over */
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

/* What a thread wrote until now. */
struct thread_until {
	uint64_t all, acts, memory, between, waits; /* the latest end of each */
	uint64_t entered;                           /* when its last activation began */
	const struct jp_truth_record *last;
};

/* Several acts whose times nobody took one by one have one bracket: those of workloads/storm.c. */
static bool shares_bracket(const struct jp_truth_record *record, const struct jp_truth_record *last)
{
	return last && last->type != record->type && last->before == record->before &&
	       last->after == record->after;
}

/*
 * Whether an activation took more CPU time than there was until its thread wrote the next record.
 * By its frequency and by slewing NTP has the clock run 500 ppm each slower (MAXFREQ in
 * include/linux/timex.h): CPU time runs as the machine does.
 */
static bool took_too_long(const struct jp_truth_record *record, const struct thread_until *until)
{
	const uint64_t ran = record->after - until->entered;

	return until->last && until->last->type == JP_TRUTH_LEAVE &&
	       until->last->leave.cpu > ran + ran / 1000;
}

static bool is_in_order(const struct jp_truth_record *record, const struct thread_until *until)
{
	const uint8_t is = traits[record->type];

	/* Nobody does the same twice at one time. */
	if (until->last && !memcmp(record, until->last, sizeof(*record)))
		return false;
	if (is & INSTANT && record->before != record->after)
		return false;
	if (is & NO_ACT)
		return record->before >= until->all;
	if (is & AFTER_TEXT)
		return record->before >= until->acts && until->last &&
		       until->last->type == JP_TRUTH_TEXT && record->after <= until->last->before;
	if (is & WRAPS)
		return record->before >= until->between && record->after >= until->memory;
	/* Of a name that was written before. */
	if (record->type == JP_TRUTH_MAP)
		return record->before >= until->acts;
	/* Nobody saw when a wait began, but that the one before was over. */
	if (record->type == JP_TRUTH_WAIT)
		return record->before >= until->waits && record->after >= until->all &&
		       record->wait.handled >= record->before &&
		       record->wait.handled <= record->after;
	/* A process that was killed is told of by who knew of it before. */
	if (record->type == JP_TRUTH_PROCESS_EXIT)
		return record->after >= until->all;
	return record->before >= until->all || shares_bracket(record, until->last);
}

static void note(struct thread_until *until, const struct jp_truth_record *record)
{
	const uint8_t is = traits[record->type];

	until->all = jp_max(until->all, record->after);
	if (record->type == JP_TRUTH_ENTER)
		until->entered = record->before;
	if (!(is & NO_ACT))
		until->acts = jp_max(until->acts, record->after);
	if (is & MEMORY)
		until->memory = jp_max(until->memory, record->after);
	if (is & BETWEEN)
		until->between = jp_max(until->between, record->after);
	if (record->type == JP_TRUTH_WAIT)
		until->waits = record->after;
	until->last = record;
}

int jp_truth_count_disorder(struct jp_truth_reader *reader)
{
	const struct jp_truth_items *items = reader->items;
	struct jp_map threads = {0};
	int ret = 0;

	for (size_t i = 0; !ret && i < items->nr_believed; i++) {
		const struct jp_truth_record *record = items->believed[i];
		struct thread_until *until = jp_map_at(
			&threads, (uint64_t)record->pid << 32 | record->tid, sizeof(*until));

		if (!until) {
			ret = -ENOMEM;
			continue;
		}
		reader->disorder += !is_in_order(record, until) || took_too_long(record, until);
		note(until, record);
	}
	jp_map_free(&threads);
	return ret;
}
