/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/shown/shown.h"
#include "validators/code_names.h"

/* Returns whether a line of the perf map of @pid with @name overlaps another line. */
bool jp_shown_name_overlaps(const struct jp_naming *naming, uint32_t pid, const char *name);

/* Compares the name that @frame shows for @addr, in the process of @event, with the true name and
 * with the name that perf's rules find in the same file. @caller: @addr is the address before a
 * return address. Sets *@judged if @addr lies in emitted code that is not changing. Returns a cause
 * id if the name equals neither of them, else NULL. */
const char *jp_shown_name_cause(const struct jp_naming *naming, const struct jp_event *event,
				const struct jp_shown_frame *frame, uint64_t addr, bool caller,
				bool *judged);
