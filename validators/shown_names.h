/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/shown/shown.h"
#include "validators/code_names.h"

/* Compares the name of @frame, for @addr of the process of @event, with the true one and with that
 * of perf's rules for the same file. @caller: @addr is the address before a return address. Sets
 * *@judged if @addr lies in emitted code that is not changing. Returns the cause if the name is
 * neither, else NULL. */
const char *jp_shown_name_cause(const struct jp_naming *naming, const struct jp_event *event,
				const struct jp_shown_frame *frame, uint64_t addr, bool caller,
				bool *judged);
