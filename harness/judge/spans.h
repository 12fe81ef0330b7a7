/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/boxes.h"
#include "harness/base/map.h"
#include "harness/model/oracle/truth.h"
#include "harness/model/space/replay.h"

/*
 * A span: one executable mapping for as long as it was exactly that. The replay of a whole stream
 * as a list, so that truth and capture can be laid over each other in address and time.
 */
struct jp_span {
	uint32_t pid;
	struct jp_mapping mapping; /* name and build id are the spaces' */
	/* The brackets in which it came to be and ceased (UINT64_MAX: it never did; close_after
	 * too where it ceased with its process); a capture's are points. */
	uint64_t open_before, open_after;
	uint64_t close_before, close_after;
};

struct jp_spans {
	struct jp_span *spans; /* by pid, then in the order in which they opened */
	size_t count, capacity;
	struct jp_replay *own; /* the truth's spaces */
	struct jp_map open;    /* by process, while the stream is walked */
	/* Once all was followed: by place, from open_before to close_after. */
	struct jp_boxes boxes;
};

/* All of the truth's, to be searched. 0 or -ENOMEM. */
int jp_spans_of_truth(const struct jp_truth *truth, struct jp_spans *spans);
/* @event of a capture was applied to @spaces, which @spans (all zero at first) need to the end. 0
 * or -ENOMEM. */
int jp_spans_follow(struct jp_spans *spans, struct jp_replay *spaces, const struct jp_event *event);
/* Once all was followed: sorts them, to be searched. 0 or -ENOMEM. */
int jp_spans_index(struct jp_spans *spans);
void jp_spans_free(struct jp_spans *spans);
/* The next span of @pid, in no order, that is somewhere in @box from open_before to close_after;
 * NULL: that was all. As jp_boxes_next(). */
const struct jp_span *jp_spans_next(const struct jp_spans *spans, uint32_t pid,
				    const struct jp_box *box, size_t *at);
/* Whether some span of @pid that holds @addr opened between @from and @to, whatever became of it;
 * @spans may still grow, but each is looked at then. */
bool jp_spans_told(const struct jp_spans *spans, uint32_t pid, uint64_t addr, uint64_t from,
		   uint64_t to);
