/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/validator.h"

/* What is counted of the stacks of a capture, and the metrics that come of it. */
struct jp_method_count {
	uint64_t judged, broken, verdicts[JP_VERDICTS], predicted, perfview, flagged;
	uint64_t in_kernel[JP_VERDICTS]; /* the same verdicts, of samples in the kernel alone */
	uint64_t complete;               /* short, and said to be whole */
	uint64_t behind[2];              /* unmapped, and wrong or extra besides */
	uint64_t absent;                 /* samples that hold nothing that the method could walk */
};

/* Of one process of a gated capture. */
struct jp_process_count {
	uint64_t judged[JP_METHODS], whole[JP_METHODS];
};

struct jp_stack_counts {
	struct jp_method_count methods[JP_METHODS];
	uint64_t samples, unjudged;         /* of all samples in emitted code */
	uint64_t kernel;                    /* of them, those that the kernel ran for */
	uint64_t off_code;                  /* samples of a thread in a path, in no emitted code */
	uint64_t foreign;                   /* samples of processes that the truth does not know */
	uint64_t granted_least;             /* bytes of stack that the kernel had room for */
	struct jp_process_count *processes; /* one per announcement */
	uint64_t *places;                   /* function id << 32 | offset of each judged sample */
	size_t nr_places, places_capacity;
};

/* 0 or -ENOMEM. */
int jp_stack_counts_init(struct jp_stack_counts *counts, const struct jp_evidence *evidence);
void jp_stack_counts_free(struct jp_stack_counts *counts);
/* A judged sample at @offset of function @id. 0 or -ENOMEM. */
int jp_stack_counts_place(struct jp_stack_counts *counts, uint32_t id, uint32_t offset);
/* A sample in a path of which the profiler has no frame: nothing is shown of a true stack. 0 or
 * -ENOMEM. */
int jp_stack_counts_stackless(struct jp_stack_counts *counts, struct jp_view *view,
			      const struct jp_event *event);
/* Of @weight samples whose verdict was @was (JP_UNJUDGED: that were not judged yet), @now is it.
 * Returns the exception that counts them; NULL: -ENOMEM. */
struct jp_exception *jp_stack_counts_turn(struct jp_stack_counts *counts, struct jp_view *view,
					  enum jp_verdict was, enum jp_verdict now,
					  uint64_t weight);
/* The metrics of all of it; a process of which too little was seen makes the case an ERROR. 0 or
 * -ENOMEM. */
int jp_stack_counts_add(struct jp_stack_counts *counts, struct jp_view *view);
