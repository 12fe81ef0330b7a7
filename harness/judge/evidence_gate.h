/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_EVIDENCE_GATE_H
#define JP_EVIDENCE_GATE_H

#include "harness/judge/evidence.h"

struct jp_replay;

/* What a closed gate kept from a capture. */

static inline bool jp_evidence_gated(const struct jp_evidence *evidence)
{
	return evidence->intervals.gate[0] != 0;
}
/* The maps of @process as read when it announced itself, or NULL. */
const struct jp_snapshot *jp_evidence_announced(const struct jp_evidence *evidence,
						const struct jp_announced *process);
/*
 * The windows in which @pid was watched, one after the other: *@at is 0 at first. Of a gated
 * capture its intervals, without their brackets; of others sampling to stop. False: no more.
 */
bool jp_evidence_window(const struct jp_evidence *evidence, uint32_t pid, size_t *at,
			uint64_t *from, uint64_t *to);
/* Whether @pid exec'd between @from and @to with the gate closed to what would have told it. */
bool jp_evidence_untold_exec(const struct jp_evidence *evidence, uint32_t pid, uint64_t from,
			     uint64_t to);
/* JP_LEFT_GATE where the closed gate kept what covers @ip from the capture; a sentence in @what. */
enum jp_left_out jp_evidence_gate_left_out(const struct jp_evidence *evidence, uint32_t pid,
					   uint64_t ip, uint64_t time, const struct jp_event *last,
					   char *what, size_t size);
/* Gives @add, in no order, everything that a gate without cure left out: names and mappings of each
 * process from before its interval. Texts live as long as @names. */
int jp_evidence_gate_extras(const struct jp_evidence *evidence, struct jp_replay *names,
			    int (*add)(void *context, struct jp_event extra), void *context);

#endif
