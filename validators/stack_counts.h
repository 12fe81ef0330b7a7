/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/judge/validator.h"
#include "harness/model/oracle/oracle.h"

/* Verdicts of the stacks that one method walked. */
struct jp_method_count {
	uint64_t judged, broken, verdicts[JP_VERDICTS], nr_predicted, perfview, flagged;
	uint64_t in_kernel[JP_VERDICTS]; /* verdicts of samples taken in the kernel */
	uint64_t complete;               /* short stacks that the method reports as complete */
	uint64_t hidden_verdicts[2]; /* [0]: stacks that are unmapped and wrong; [1]: and extra */
	uint64_t absent;             /* samples without data for the method */
};

/* Counts of one process that announced itself to a gated capture. */
struct jp_process_count {
	uint64_t judged[JP_METHODS], nr_whole[JP_METHODS];
};

struct jp_stack_counts {
	struct jp_method_count methods[JP_METHODS];
	uint64_t samples, unjudged; /* samples in emitted code; samples that cannot be judged */
	uint64_t kernel;            /* samples in emitted code that were taken in the kernel */
	uint64_t off_code;      /* samples whose thread runs a path, but outside of emitted code */
	uint64_t foreign;       /* samples of processes that the truth does not have */
	uint64_t granted_least; /* smallest dump that the kernel granted, in bytes */
	struct jp_process_count *processes; /* one for each announcement at the gate */
	uint64_t *places;                   /* function id << 32 | offset of each judged sample */
	size_t nr_places, places_capacity;
};

/* Fills @counts with zeros. Returns 0 or -ENOMEM. */
int jp_stack_counts_init(struct jp_stack_counts *counts, const struct jp_evidence *evidence);
void jp_stack_counts_free(struct jp_stack_counts *counts);
/* Counts @weight samples of @method with @verdict. */
void jp_stack_counts_verdict(struct jp_stack_counts *counts, enum jp_method method,
			     enum jp_verdict verdict, uint64_t weight);
/* Returns the metric to which exceptions with @verdict belong; NULL: @verdict is good or unjudged.
 * Stores the cause id in *@cause unless @verdict is JP_UNMAPPED. */
const char *jp_stack_counts_metric(enum jp_verdict verdict, const char **cause);
/* Stores the place of a judged sample: @offset in function @id. Returns 0 or -ENOMEM. */
int jp_stack_counts_place(struct jp_stack_counts *counts, uint32_t id, uint32_t offset);
/* Counts a sample without any frame, taken in a path, as a short stack. Returns 0 or -ENOMEM. */
int jp_stack_counts_stackless(struct jp_stack_counts *counts, struct jp_view *view,
			      const struct jp_event *event);
/* Changes the verdict of @weight samples from @old_verdict (JP_UNJUDGED: not counted yet) to
 * @new_verdict. Returns the exception that counts them, or NULL if out of memory. */
struct jp_exception *jp_stack_counts_change(struct jp_stack_counts *counts, struct jp_view *view,
					    enum jp_verdict old_verdict,
					    enum jp_verdict new_verdict, uint64_t weight);
/* Adds all metrics. A process with too few samples makes the case an ERROR. Returns 0 or
 * -ENOMEM. */
int jp_stack_counts_add(struct jp_stack_counts *counts, struct jp_view *view);

/* Where the innermost frame of a stack with a good verdict lies, in a stream with addresses. Few
 * samples are at instructions that run once per call. If most stacks begin at such instructions,
 * the profiler omits innermost frames (stacks begin at return addresses) or stores only functions
 * (stacks begin at first addresses). */
struct jp_stack_leaf {
	bool is_caller; /* in a function that calls another emitted function */
	bool returned;  /* the innermost address is the return address of that call */
	bool begins;    /* the innermost address is the first address of its function */
};

/* Number of samples with good stacks at instructions that run once per call. */
struct jp_stack_once {
	uint64_t verdicts[JP_VERDICTS], nr_samples, nr_predicted;
};

struct jp_stack_leaves {
	uint64_t nr_good, nr_callers;
	struct jp_stack_once returned, begins; /* parts of @nr_callers and of @nr_good */
};

/* Returns the place of the innermost frame of @truth. */
struct jp_stack_leaf jp_stack_leaf_find(const struct jp_truth_stack *truth);
/* Counts @weight samples whose innermost frame is @leaf, if @verdict is good. @predicted: they have
 * the predicted stack. */
void jp_stack_leaves_add(struct jp_stack_leaves *leaves, struct jp_stack_leaf leaf,
			 enum jp_verdict verdict, bool predicted, uint64_t weight);
/* Changes, in @counts, the verdict of the samples at instructions that run once per call, if they
 * are too many. Returns 0 or -ENOMEM. */
int jp_stack_leaves_judge(const struct jp_stack_leaves *leaves, struct jp_stack_counts *counts,
			  struct jp_view *view);
