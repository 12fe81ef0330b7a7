/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/model/oracle/truth.h"

struct jp_machine;

/* The stack that a sample must show, by the truth and by the rule of the method. */

/* Why a method's walk ends, where nothing cuts it short. */
enum jp_truth_end {
	JP_END_ROOT,  /* at the thread's outermost frame */
	JP_END_BP,    /* at a frame pointer that is none; seen may hold what the rule meets there */
	JP_END_STACK, /* at another stack, which no dump of this one holds */
	JP_END_NO_CFI, /* in a file without call frame information */
	JP_END_ZERO,   /* misled: it takes this for the outermost frame */
	JP_END_WORD,   /* misled: at an address that is none, the last of seen */
};

/* The stack of a sample, as it truly is and as the kernel's frame-pointer rule must see it. */
struct jp_truth_stack {
	const struct jp_truth_activation *activation;
	uint32_t depth;    /* index into path->functions of the sampled function */
	uint32_t offset;   /* of the sampled instruction in it */
	uint32_t nr_whole; /* every caller: ip, emitted callers, native frames up to the root */
	uint32_t nr_seen;  /* what the method must see: a subsequence, or whatever the rule meets */
	/* Whether @code comes with unwind information, so that the dump's method need not follow
	 * frame pointers there; NULL: none does. Set by the caller, as @context. */
	bool (*has_unwind_info)(void *context, const struct jp_truth_code *code, uint64_t time);
	/* Whether the capture holds no call frame information of the file that it knows at @addr,
	 * so that a walk by it ends there; NULL: it holds all. Set by the caller, too. */
	bool (*lacks_file)(void *context, uint32_t pid, uint64_t addr);
	void *context;
	uint64_t *whole, *seen; /* innermost first; whole[0] == ip; owned by the caller-provided
				   arena below */
	/* Where on the stack seen[i] stands, if that is known; else, and for seen[0], 0. */
	uint64_t *at;
	enum jp_truth_end end;
	bool faithful; /* seen is of whole, up to the root: nothing stops or misleads the method */
	const struct jp_machine *machine; /* the truth's */
	uint64_t *buf;
	size_t buf_size;
};

/* The last activation of @tid with enter <= @time, or NULL. @hint: the last answer, or NULL. */
const struct jp_truth_activation *jp_truth_activation_at(const struct jp_truth *truth,
							 const struct jp_truth_activation *hint,
							 uint32_t tid, uint64_t time);

enum jp_stack_answer {
	JP_STACK_FOUND,
	/* in the vDSO, in another place than the path's; within @slack of two activations that both
	 * allow (ip, sp), with other stacks; or the native frames changed during the activation (or
	 * no memory) */
	JP_STACK_UNJUDGED,
	JP_STACK_NO_ACTIVATION, /* the thread is in no path then: the truth forbids this sample */
	JP_STACK_NO_DEPTH, /* (ip, sp) fits no depth of the path: the truth forbids this sample */
};

/*
 * Fixes the depth from (@ip, @sp) and builds both stacks for @method. The frame
 * pointer is not trusted: jp_truth_words() says what it must be. @slack: ns by which the capture's
 * clock may differ from the truth's.
 * @stack is all zero at first (but for @has_unwind_info) and reused from call to call (its last
 * activation is where the search begins); free its buffer once with jp_truth_stack_free().
 */
enum jp_stack_answer jp_truth_stack_at(const struct jp_truth *truth, uint32_t pid, uint32_t tid,
				       uint64_t time, uint64_t slack, uint64_t ip, uint64_t sp,
				       enum jp_method method, struct jp_truth_stack *stack);
/*
 * What a capture without stack pointers knows of where a thread stood, and how far the search came:
 * all but @ip or @name is zero at first.
 */
struct jp_truth_guess {
	uint64_t ip;      /* where it stood */
	const char *name; /* or in which function, and @ip is found */
	const struct jp_truth_activation *activation;
	uint32_t depth, insn;
	bool any; /* the thread was in an activation then */
};
/*
 * As jp_truth_stack_at(): each call fills @stack with one more that @guess allows, of every depth
 * and activation. What is not JP_STACK_FOUND is the end: JP_STACK_UNJUDGED where the native frames
 * changed meanwhile.
 */
enum jp_stack_answer jp_truth_stack_guess(const struct jp_truth *truth, uint32_t pid, uint32_t tid,
					  uint64_t time, uint64_t slack, enum jp_method method,
					  struct jp_truth_guess *guess,
					  struct jp_truth_stack *stack);
/* A word of memory that is known: what stands at @at. */
typedef void (*jp_truth_word)(void *context, uint64_t at, uint64_t value);
/*
 * What holds of @stack, once it is found, whatever a method sees of it: @tell gets each return
 * address and each caller's frame pointer that emitted code keeps on it; the frame pointer itself
 * goes to *@fp. False: the function uses it for something else.
 */
bool jp_truth_words(const struct jp_truth_stack *stack, jp_truth_word tell, void *context,
		    uint64_t *fp);
void jp_truth_stack_free(struct jp_truth_stack *stack);
/* Whether @tid was inside of a path at @time, whatever the clocks' difference of @slack. */
bool jp_truth_is_inside(const struct jp_truth *truth, uint32_t tid, uint64_t time, uint64_t slack);
