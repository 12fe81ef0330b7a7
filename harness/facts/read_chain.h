/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/facts/code.h"
#include "harness/facts/watch.h"

#define JP_CHAIN_MARKER UINT64_C(0xfffffffffffff000) /* what is above is PERF_CONTEXT_* */

/* jp_watch_open() of jp_watch_breakpoint(@addr). */
bool jp_chain_open(struct jp_watch *watch, const void *addr, struct jp_answer *answer);
/* The next sample; false: there is none, and that is told as missing. */
bool jp_chain_next(struct jp_watch *watch, struct jp_event *sample, struct jp_answer *answer);
/* A list of the next sample's user addresses, innermost first: "leaf", "middle", "outer"; "caller"
 * for any other code of this program, with which it ends; "elsewhere" for an address that is none
 * of these. */
void jp_chain_tell_next(struct jp_answer *answer, struct jp_watch *watch);
/* How many user addresses the next sample's chain has, as a number. */
void jp_chain_tell_length(struct jp_answer *answer, struct jp_watch *watch);
