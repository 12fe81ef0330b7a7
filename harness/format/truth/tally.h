/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "harness/base/error.h"
#include "harness/format/event.h"

/* Kinds of acts of a workload. */
enum jp_act {
	JP_ACT_PROCESS, /* a process started */
	JP_ACT_EXEC,    /* a process got another image */
	JP_ACT_THREAD,
	JP_ACT_MAP,
	JP_ACT_PROTECT,
	JP_ACT_REMAP,
	JP_ACT_UNMAP,
	JP_ACT_LOAD, /* LOAD, MOVE and UNLOAD of a function */
	JP_ACT_MOVE,
	JP_ACT_UNLOAD,
	JP_ACT_ENTER, /* a thread entered a path */
	JP_ACTS,      /* number of kinds; also returned for an event of no kind */
};

/* Names of the kinds: "process", "thread", and so on; NULL at the end. */
extern const char *const jp_act_text[JP_ACTS + 1];

/* Returns the kind of act of the truth's event @event, or JP_ACTS if it has none of these kinds. */
enum jp_act jp_act_find_kind(const struct jp_event *event);
/* Counts the acts in the truth file @path, which may still grow, from @begun to @end (ns). Counts
 * acts before @begun, too, if the workload is not older than @started: a capture that launched it
 * may report its begin late. Returns 0, or -1 and a message. */
int jp_acts_count(const char *path, uint64_t started, uint64_t begun, uint64_t end,
		  uint64_t counts[JP_ACTS], struct jp_error *err);
