/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/model/oracle/truth.h"

struct jp_machine;

/* Where and why the walk of a method ends, if the capture contains all the data that it needs. */
enum jp_truth_end {
	JP_END_ROOT,   /* at the thread's outermost frame */
	JP_END_BP,     /* at an invalid frame pointer; @expected may include addresses that the
			  frame-pointer rule finds before it stops */
	JP_END_STACK,  /* at another stack, which the dump does not contain */
	JP_END_NO_CFI, /* in a file without call frame information */
	JP_END_ZERO, /* because of wrong call frame information: at a frame that looks outermost */
	JP_END_WORD, /* because of wrong call frame information: at an invalid address, the last one
			in @expected */
};

/* The true stack of a sample, and the stack that the method must find. */
struct jp_truth_stack {
	const struct jp_truth_activation *activation;
	uint32_t depth;    /* index of the sampled function in path->functions */
	uint32_t offset;   /* offset of the sampled instruction in the function */
	uint32_t nr_whole; /* number of entries of @frames: ip, emitted callers, native frames up to
			      the thread's outermost frame */
	uint32_t nr_seen;  /* number of entries of @expected */
	/* Returns whether the capture has unwind information for @code, so that JP_DUMP does not
	 * follow frame pointers there. NULL: it has none for any code. Set by the caller, like
	 * @context. */
	bool (*has_unwind_info)(void *context, const struct jp_truth_code *code, uint64_t time);
	/* Returns whether the capture has the mapping at @addr but lacks the call frame information
	 * of its file, so that a walk ends there. NULL: it lacks none. Set by the caller. */
	bool (*lacks_file)(void *context, uint32_t pid, uint64_t addr);
	/* Returns whether a walk takes the code of a file at @addr for code of a JIT. NULL: no
	 * code. Set by the caller. */
	bool (*seems_emitted)(void *context, uint32_t pid, uint64_t addr);
	void *context;
	uint64_t *frames, *expected; /* @frames: all frames; @expected: those that the method must
				   find. Innermost first; frames[0] == ip. Both are in @buf. */
	/* return_addrs[i] is the stack address at which expected[i] is stored, or 0 if unknown.
	 * return_addrs[0] is 0. */
	uint64_t *return_addrs;
	enum jp_truth_end end;
	bool faithful; /* @expected contains only frames of @frames, in their order, and the
			  outermost one */
	const struct jp_machine *machine; /* machine of the truth */
	uint64_t *buf;
	size_t buf_size;
};

/* Returns the last activation of @tid that was entered until @time, or NULL. @hint: result of the
 * previous call, which makes the search fast, or NULL. */
const struct jp_truth_activation *jp_truth_activation_at(const struct jp_truth *truth,
							 const struct jp_truth_activation *hint,
							 uint32_t tid, uint64_t time);

enum jp_stack_answer {
	JP_STACK_FOUND,
	/* The truth does not determine the stack: the sample is in the vDSO outside of the path's
	 * code; two activations within @slack have different stacks that both allow (ip, sp);
	 * native frames changed during the activation; or memory ran out. */
	JP_STACK_UNJUDGED,
	JP_STACK_NO_ACTIVATION, /* contradicts the truth: the thread was in no path at that time */
	JP_STACK_NO_DEPTH,      /* contradicts the truth: no function of the path allows (ip, sp) */
};

/* Finds the function of the path in which @tid of @pid was at @time by (@ip, @sp), and builds the
 * true stack and the stack that @method must find. Ignores the sampled frame pointer, which
 * jp_truth_visit_stack_words() predicts. @slack: largest difference of the clocks of capture and
 * truth, ns.
 * @stack starts as zeros, except for the fields that the caller sets, and is reused from call to
 * call: the search starts at its last activation. Free it with jp_truth_stack_free(). */
enum jp_stack_answer jp_truth_stack_at(const struct jp_truth *truth, uint32_t pid, uint32_t tid,
				       uint64_t time, uint64_t slack, uint64_t ip, uint64_t sp,
				       enum jp_method method, struct jp_truth_stack *stack);
/* A search for the position of a thread in a capture without stack pointers. The caller sets @ip or
 * @name; all other fields start as zeros. */
struct jp_truth_guess {
	uint64_t ip;      /* the thread's address */
	const char *name; /* name of the thread's function, if no address is known; then @ip is a
			     result */
	const struct jp_truth_activation *activation;
	uint32_t depth, insn;
	bool any; /* result: whether the thread was in an activation at that time */
};
/* Does the same as jp_truth_stack_at() without a stack pointer: each call fills @stack with the
 * next possible stack, of any function and activation that @guess allows. A result other than
 * JP_STACK_FOUND ends the search; JP_STACK_UNJUDGED means that native frames changed during the
 * activation. */
enum jp_stack_answer jp_truth_stack_guess(const struct jp_truth *truth, uint32_t pid, uint32_t tid,
					  uint64_t time, uint64_t slack, enum jp_method method,
					  struct jp_truth_guess *guess,
					  struct jp_truth_stack *stack);
/* Receives a word of memory that the truth predicts: @value at address @at. Bits in the mask
 * @signature may differ. */
typedef void (*jp_truth_word)(void *context, uint64_t at, uint64_t value, uint64_t signature);
/* Calls @report for each return address and each saved frame pointer that emitted code keeps on the
 * found @stack, and stores the expected frame pointer in *@fp. The results are the same for all
 * methods. Returns false if the function uses the frame pointer register for something else. */
bool jp_truth_visit_stack_words(const struct jp_truth_stack *stack, jp_truth_word report,
				void *context, uint64_t *fp);
void jp_truth_stack_free(struct jp_truth_stack *stack);
/* Returns whether @tid was inside a path at @time, for any clock difference up to @slack ns. */
bool jp_truth_is_inside(const struct jp_truth *truth, uint32_t tid, uint64_t time, uint64_t slack);
