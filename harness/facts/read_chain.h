/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/facts/code.h"
#include "harness/facts/watch.h"

/* Entries of a chain from this value on are PERF_CONTEXT_* markers, not addresses. */
#define JP_CHAIN_MARKER UINT64_C(0xfffffffffffff000)

/* Opens the event of jp_watch_breakpoint(@addr). Returns as jp_watch_open(). */
bool jp_chain_open(struct jp_watch *watch, const void *addr, struct jp_answer *answer);
/* Reads the next sample. Returns false and notes that as missing in @answer if there is none. */
bool jp_chain_next(struct jp_watch *watch, struct jp_event *sample, struct jp_answer *answer);
/* Adds a list of the user addresses in the chain of the next sample, innermost first: "leaf",
 * "middle", "outer" for addresses in these functions; "caller" for other code of this program,
 * which ends the list; "elsewhere" for any other address. */
void jp_answer_chain(struct jp_answer *answer, struct jp_watch *watch);
/* Adds the number of user addresses in the chain of the next sample. */
void jp_answer_chain_length(struct jp_answer *answer, struct jp_watch *watch);
