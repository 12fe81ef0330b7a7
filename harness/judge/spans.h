/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/boxes.h"
#include "harness/base/map.h"
#include "harness/model/oracle/truth.h"
#include "harness/model/space/replay.h"

/* A span: one executable mapping during the time in which nothing about it changed. A list of spans
 * represents a whole stream, so that truth and capture can be compared by address and time. */
struct jp_span {
	uint32_t pid;
	struct jp_mapping mapping; /* the spaces own its name and build id */
	/* Time brackets of its opening and closing (UINT64_MAX: not closed; close_after also if its
	 * process ended). A capture's brackets are points. */
	uint64_t open_before, open_after;
	uint64_t close_before, close_after;
};

struct jp_spans {
	struct jp_span *spans; /* by pid, then by opening time */
	size_t count, capacity;
	struct jp_replay *own; /* the truth's spaces */
	struct jp_map open;    /* open spans by process, during the walk */
	/* Index by place and time, from open_before to close_after, made after the walk. */
	struct jp_boxes boxes;
};

/* Stores all spans of the truth, indexed. Returns 0 or -ENOMEM. */
int jp_spans_of_truth(const struct jp_truth *truth, struct jp_spans *spans);
/* Updates @spans (all zero at first) after @event of a capture was applied to @spaces, which must
 * live as long. Returns 0 or -ENOMEM. */
int jp_spans_follow(struct jp_spans *spans, struct jp_replay *spaces, const struct jp_event *event);
/* Sorts and indexes the spans when the walk is done. Returns 0 or -ENOMEM. */
int jp_spans_index(struct jp_spans *spans);
void jp_spans_free(struct jp_spans *spans);
/* Returns the next span of @pid, in no order, that lies in @box with the times open_before to
 * close_after, or NULL. See jp_boxes_next(). */
const struct jp_span *jp_spans_next(const struct jp_spans *spans, uint32_t pid,
				    const struct jp_box *box, size_t *at);
/* Returns whether a span of @pid that contains @addr opened between @from and @to. @spans may still
 * grow; new spans are then searched one by one. */
bool jp_spans_has_opened(const struct jp_spans *spans, uint32_t pid, uint64_t addr, uint64_t from,
			 uint64_t to);
