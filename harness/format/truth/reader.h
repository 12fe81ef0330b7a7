/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"
#include "harness/format/event.h"
#include "harness/format/truth/format.h"

struct jp_truth_layout {
	uint32_t id, count;
	struct jp_truth_insn *insns; /* by offset; bp without JP_INSN_RETURN and JP_INSN_TAIL */
	uint32_t returns; /* index of the instruction to which its call returns; UINT32_MAX: none */
	uint32_t tail;    /* of the one that jumps to the next function; the same */
};

/* What leads out of a function's frames. */
struct jp_truth_frames {
	uint32_t id;
	enum jp_cfi_status cfi_status;
	bool vdso;     /* the layout may lack instructions; others run it outside of paths */
	uint64_t word; /* where JP_INSN_MISLED is */
	/* What the frame-pointer rule meets where bp is JP_BP_OTHER, to its end; NULL: nothing. */
	const struct jp_truth_root *detour;
};

/* A path as it is written: functions by id, outermost first. */
struct jp_truth_path_item {
	uint32_t id, depth;
	const uint32_t *functions;
};

struct jp_truth_root {
	uint32_t id, count;
	enum jp_method method;
	/* Innermost first. frames[0] is where functions[0] returns to, in the native entry;
	 * frames[1] is the return address of the native entry itself, at activation->bp + 8; and so
	 * on outwards. */
	uint64_t *frames;
};

/* A truth file as events. */
struct jp_truth_reader {
	uint32_t version, e_machine;
	/* torn: slots and facts that are not believed; gaps: those of them that a committed record
	 * follows, or that another fact needs; overflow: records lost to a full file;
	 * strangers: of threads that no record began; disorder: that no thread writes behind those
	 * before it; unpaired: beginnings and ends without what goes with them */
	uint64_t records, torn, gaps, overflow, strangers, disorder, unpaired;
	struct jp_truth_items *items; /* private */
};

/*
 * Reads a truth file that anyone may have written: sizes, ids and counts are checked; every torn
 * slot is counted and skipped. NULL and a message where it is no truth file. Does not judge gaps
 * and overflow: the caller must (ERROR, docs/truth-format.md).
 */
struct jp_truth_reader *jp_truth_reader_open(const char *path, struct jp_error *err);
/* Gives each event to @visit, in time order, once: the records are freed then. What events
 * point to lives as long as @reader. What @visit returns, if not 0; or -ENOMEM. */
int jp_truth_reader_visit(struct jp_truth_reader *reader, jp_event_visit visit, void *context);
void jp_truth_reader_free(struct jp_truth_reader *reader);
