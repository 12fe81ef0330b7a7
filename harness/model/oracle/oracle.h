/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/model/oracle/truth.h"

struct jp_machine;

/* The reason for which a method's walk ends if the capture has all data. */
enum jp_truth_end {
	JP_END_ROOT, /* at the thread's outermost frame */
	JP_END_BP,   /* at an invalid frame pointer; @seen may include addresses that the rule finds
			there */
	JP_END_STACK,  /* at another stack, which the dump does not contain */
	JP_END_NO_CFI, /* in a file without call frame information */
	JP_END_ZERO,   /* by wrong call frame information: at a frame that looks outermost */
	JP_END_WORD, /* by wrong call frame information: at an invalid address, the last in @seen */
};

/* The true stack of a sample, and the stack that the method must find. */
struct jp_truth_stack {
	const struct jp_truth_activation *activation;
	uint32_t depth;    /* index of the sampled function in path->functions */
	uint32_t offset;   /* offset of the sampled instruction in the function */
	uint32_t nr_whole; /* number of all frames: ip, emitted callers, native frames up to the
			      root */
	uint32_t nr_seen;  /* number of frames that the method must find */
	/* Returns whether @code has unwind information, so that the dump's method need not follow
	 * frame pointers there; NULL: no code has. Set by the caller, like @context. */
	bool (*has_unwind_info)(void *context, const struct jp_truth_code *code, uint64_t time);
	/* Returns whether the capture lacks the call frame information of the file at @addr,
	 * although it has the mapping, so that a walk ends there; NULL: it lacks none. Set by the
	 * caller. */
	bool (*lacks_file)(void *context, uint32_t pid, uint64_t addr);
	void *context;
	uint64_t *whole, *seen; /* innermost first; whole[0] == ip; in @buf */
	/* Stack address of seen[i]; 0 if unknown, and for seen[0]. */
	uint64_t *at;
	enum jp_truth_end end;
	bool faithful; /* @seen is a subsequence of @whole, and includes the root */
	const struct jp_machine *machine; /* machine of the truth */
	uint64_t *buf;
	size_t buf_size;
};

/* Returns the last activation of @tid that was entered until @time, or NULL. @hint: the last
 * result, or NULL. */
const struct jp_truth_activation *jp_truth_activation_at(const struct jp_truth *truth,
							 const struct jp_truth_activation *hint,
							 uint32_t tid, uint64_t time);

enum jp_stack_answer {
	JP_STACK_FOUND,
	/* outside of the path's code in the vDSO; within @slack of two activations with different
	 * stacks that both allow (ip, sp); native frames changed during the activation; or no
	 * memory */
	JP_STACK_UNJUDGED,
	JP_STACK_NO_ACTIVATION, /* the truth forbids this sample: the thread was in no path at that
				   time */
	JP_STACK_NO_DEPTH, /* the truth forbids this sample: (ip, sp) fits no depth of the path */
};

/* Finds the depth by (@ip, @sp), and builds both stacks for @method. Ignores the sampled frame
 * pointer, which jp_truth_words() predicts. @slack: ns by which the clocks of capture and truth may
 * differ. @stack starts as zeros, except for the caller's fields, and is reused from call to call:
 * the search starts at its last activation. Free it with jp_truth_stack_free(). */
enum jp_stack_answer jp_truth_stack_at(const struct jp_truth *truth, uint32_t pid, uint32_t tid,
				       uint64_t time, uint64_t slack, uint64_t ip, uint64_t sp,
				       enum jp_method method, struct jp_truth_stack *stack);
/* Position of a thread in a capture without stack pointers, and the state of the search. Set @ip or
 * @name; all other fields start as zeros. */
struct jp_truth_guess {
	uint64_t ip;      /* the thread's address */
	const char *name; /* or the name of its function; then @ip is a result */
	const struct jp_truth_activation *activation;
	uint32_t depth, insn;
	bool any; /* result: whether the thread was in an activation at that time */
};
/* Does the same as jp_truth_stack_at() for @guess: each call fills @stack with the next possible
 * stack, of any depth and activation. A result other than JP_STACK_FOUND ends the search;
 * JP_STACK_UNJUDGED means that native frames changed meanwhile. */
enum jp_stack_answer jp_truth_stack_guess(const struct jp_truth *truth, uint32_t pid, uint32_t tid,
					  uint64_t time, uint64_t slack, enum jp_method method,
					  struct jp_truth_guess *guess,
					  struct jp_truth_stack *stack);
/* Receives a known word of memory: @value at address @at, where the bits @signature may differ. */
typedef void (*jp_truth_word)(void *context, uint64_t at, uint64_t value, uint64_t signature);
/* Calls @report for each return address and each saved frame pointer that emitted code keeps on the
 * found @stack, and stores the frame pointer in *@fp. These do not depend on the method. Returns
 * false if the function uses the frame pointer register for something else. */
bool jp_truth_words(const struct jp_truth_stack *stack, jp_truth_word report, void *context,
		    uint64_t *fp);
void jp_truth_stack_free(struct jp_truth_stack *stack);
/* Returns whether @tid was inside a path at @time, for any clock difference up to @slack ns. */
bool jp_truth_is_inside(const struct jp_truth *truth, uint32_t tid, uint64_t time, uint64_t slack);
