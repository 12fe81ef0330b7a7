/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/format/event.h"
#include "harness/format/truth/format.h"

struct jp_truth_layout {
	uint32_t id, count;
	/* Sorted by offset; @bp has neither JP_INSN_RETURN nor JP_INSN_TAIL. */
	struct jp_truth_insn *insns;
	uint32_t returns; /* index of the instruction to which the call of the next function
			     returns; UINT32_MAX: none */
	uint32_t tail; /* index of the instruction that jumps to the next function; UINT32_MAX: none
			*/
};

/* Facts about unwinding a function's frames that its layout does not contain. */
struct jp_truth_frames {
	uint32_t id;
	enum jp_cfi_status cfi_status;
	bool vdso;     /* code of the vDSO: the layout may lack instructions, and the code also runs
			  outside of paths */
	uint64_t word; /* the false return address that call frame information gives at
			  JP_INSN_MISLED */
	/* The stack that the frame-pointer method finds at instructions where bp is JP_BP_OTHER;
	 * NULL: none. */
	const struct jp_truth_root *detour;
};

/* A path: ids of functions that call each other, outermost first. */
struct jp_truth_path_item {
	uint32_t id, depth;
	const uint32_t *functions;
};

struct jp_truth_root {
	uint32_t id, count;
	enum jp_method method;
	/* Innermost first. frames[0] is the address in the native entry to which functions[0]
	 * returns; frames[1] is the return address of the native entry, at activation->bp + 8; and
	 * so on. */
	uint64_t *frames;
};

/* A truth file that is read as events. */
struct jp_truth_reader {
	uint32_t version, e_machine;
	/* @torn: slots and facts that are incomplete and ignored. @gaps: the part of @torn that
	 * a committed record follows, or that another fact needs. @overflow: records lost
	 * because the file was full. @strangers: records of threads without a start record.
	 * @disorder: records out of order within their thread. @overspent: activations with more
	 * CPU time than elapsed time. @unpaired: starts and exits without their counterpart. */
	uint64_t records, torn, gaps, overflow, strangers, disorder, overspent, unpaired;
	struct jp_truth_items *items; /* private */
};

/* Reads an untrusted truth file: checks sizes, ids and counts, and counts and skips torn slots.
 * Returns NULL and a message if it is no truth file. The caller must treat gaps and overflow as an
 * ERROR (docs/truth-format.md). */
struct jp_truth_reader *jp_truth_reader_open(const char *path, struct jp_error *err);
/* Calls @visit with each event once, ordered by time, then frees the records. The memory that
 * events point to lives as long as @reader. Returns 0, another value of @visit, or -ENOMEM. */
int jp_truth_reader_visit(struct jp_truth_reader *reader, jp_event_visit visit, void *context);
void jp_truth_reader_free(struct jp_truth_reader *reader);
