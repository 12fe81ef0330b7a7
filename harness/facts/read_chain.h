/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/facts/code.h"
#include "harness/facts/watch.h"

#define JP_CHAIN_MARKER UINT64_C(0xfffffffffffff000) /* larger values are PERF_CONTEXT_* */

/* Opens jp_watch_breakpoint(@addr) as jp_watch_open() does. */
bool jp_chain_open(struct jp_watch *watch, const void *addr, struct jp_answer *answer);
/* Reads the next sample. Returns false if there is none, and states that as missing. */
bool jp_chain_next(struct jp_watch *watch, struct jp_event *sample, struct jp_answer *answer);
/* States a list of the next sample's user addresses, innermost first: "leaf", "middle", "outer";
 * "caller" for other code of this program, which ends the list; "elsewhere" for any other
 * address. */
void jp_answer_chain(struct jp_answer *answer, struct jp_watch *watch);
/* States how many user addresses the next sample's chain has. */
void jp_answer_chain_length(struct jp_answer *answer, struct jp_watch *watch);
