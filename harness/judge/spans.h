/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/boxes.h"
#include "harness/base/map.h"
#include "harness/model/oracle/truth.h"
#include "harness/model/space/replay.h"

/* A span is one executable mapping during a time in which nothing about it changed. The list of all
 * spans of a truth or of a capture allows comparing both by address and time. */
struct jp_span {
	uint32_t pid;
	struct jp_mapping mapping; /* its name and build id belong to the replay */
	/* The mapping appeared within [open_before, open_after] and disappeared within
	 * [close_before, close_after]. UINT64_MAX: it never disappeared; @close_after is also
	 * UINT64_MAX if it ended with its process. In a capture both ends of a bracket are
	 * equal. */
	uint64_t open_before, open_after;
	uint64_t close_before, close_after;
};

struct jp_spans {
	struct jp_span *spans; /* sorted by pid, then by opening time */
	size_t count, capacity;
	struct jp_replay *spaces; /* address spaces of the truth; NULL for a capture */
	uint64_t newest;          /* newest time of the applied events */
	struct jp_map open;       /* pid -> spans not closed yet, while events are applied */
	/* Index by address and by time from open_before to close_after, built by
	 * jp_spans_index(). */
	struct jp_boxes boxes;
};

/* Stores all spans of @truth in @spans and builds the index. Returns 0 or -ENOMEM. */
int jp_spans_collect_from_truth(const struct jp_truth *truth, struct jp_spans *spans);
/* Updates @spans after @event of a capture was applied to @spaces. @spans starts as all zero; the
 * caller keeps @spaces as long as @spans. Returns 0 or -ENOMEM. */
int jp_spans_apply_event(struct jp_spans *spans, struct jp_replay *spaces,
			 const struct jp_event *event);
/* Sorts the spans and builds the index. Called after the last event. Returns 0 or -ENOMEM. */
int jp_spans_index(struct jp_spans *spans);
void jp_spans_free(struct jp_spans *spans);
/* Returns the next span of @pid, in no particular order, whose addresses and times (open_before to
 * close_after) overlap @box, or NULL after the last. *@cursor: see jp_boxes_find_next(). */
const struct jp_span *jp_spans_next(const struct jp_spans *spans, uint32_t pid,
				    const struct jp_box *box, size_t *cursor);
/* Returns whether a span of @pid that contains @addr opened between @from and @to. Also finds spans
 * that were added since the index was built, but searches these one by one. */
bool jp_spans_has_opened(const struct jp_spans *spans, uint32_t pid, uint64_t addr, uint64_t from,
			 uint64_t to);
