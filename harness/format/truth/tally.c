// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/truth/tally.h"

#include <errno.h>
#include <string.h>

#include "harness/format/truth/reader.h"

const char *const jp_act_text[JP_ACTS + 1] = {
	[JP_ACT_PROCESS] = "process", [JP_ACT_EXEC] = "exec",       [JP_ACT_THREAD] = "thread",
	[JP_ACT_MAP] = "map",         [JP_ACT_PROTECT] = "protect", [JP_ACT_REMAP] = "remap",
	[JP_ACT_UNMAP] = "unmap",     [JP_ACT_LOAD] = "load",       [JP_ACT_MOVE] = "move",
	[JP_ACT_UNLOAD] = "unload",   [JP_ACT_ENTER] = "enter",
};

enum jp_act jp_act_find_kind(const struct jp_event *event)
{
	switch (event->type) {
	case JP_EVENT_EXEC:
	case JP_EVENT_FORK:
		if (!jp_event_starts_process(event))
			return JP_ACT_THREAD;
		return event->task.start_kind == JP_START_EXEC ? JP_ACT_EXEC : JP_ACT_PROCESS;
	case JP_EVENT_MAP:
		return JP_ACT_MAP;
	case JP_EVENT_PROTECT:
		return JP_ACT_PROTECT;
	case JP_EVENT_REMAP:
		return JP_ACT_REMAP;
	case JP_EVENT_UNMAP:
		return JP_ACT_UNMAP;
	case JP_EVENT_CODE_LOAD:
		return JP_ACT_LOAD;
	case JP_EVENT_CODE_MOVE:
		return JP_ACT_MOVE;
	case JP_EVENT_CODE_UNLOAD:
		return JP_ACT_UNLOAD;
	case JP_EVENT_ENTER:
		return JP_ACT_ENTER;
	default:
		return JP_ACTS;
	}
}

struct act_tally {
	uint64_t start_time, first_start, end, *counts;
	bool has_acts, is_launched;
};

static int count_act(void *context, const struct jp_event *event)
{
	const enum jp_act act = jp_act_find_kind(event);
	struct act_tally *tally = context;

	if (!tally->has_acts)
		tally->is_launched = event->before >= tally->start_time;
	tally->has_acts = true;
	if (act != JP_ACTS && (tally->is_launched || event->before >= tally->first_start) &&
	    event->after <= tally->end)
		tally->counts[act]++;
	return 0;
}

int jp_acts_count(const char *path, uint64_t started, uint64_t begun, uint64_t end,
		  uint64_t counts[JP_ACTS], struct jp_error *err)
{
	struct act_tally tally = {
		.start_time = started, .first_start = begun, .end = end, .counts = counts};
	struct jp_truth_reader *reader = jp_truth_reader_open(path, err);
	int ret;

	memset(counts, 0, JP_ACTS * sizeof(*counts));
	if (!reader)
		return -1;
	ret = jp_truth_reader_visit(reader, count_act, &tally)
		      ? jp_fail(err, ENOMEM, "%s: out of memory", path)
		      : 0;
	jp_truth_reader_free(reader);
	return ret ? -1 : 0;
}
