/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/map.h"
#include "harness/format/jit/code_loads.h"
#include "harness/format/shown/shown.h"
#include "harness/judge/validator.h"
#include "harness/model/unwind/jit_cfi.h"

/* The addresses that a file holds for one sample: a reader must show them. */
struct jp_held {
	const struct jp_event *event;
	uint64_t ip;                /* the sampled user address */
	const uint64_t *user_chain; /* user part of the callchain */
	uint32_t nr_user;
	bool chained;  /* the sample has a callchain with a user part */
	bool garbage;  /* a value in @user_chain looks like a marker */
	bool has_dump; /* the sample has registers and a stack dump */
	bool is_late;  /* the thread is in jp_holder.late */
	/* Frames that a walk of the stack dump by call frame information finds; NULL: unknown. */
	const uint64_t *dump;
	uint32_t nr_dump;
	/* Number of frames of @dump before the first that only an unwinding table in no mapping
	 * finds; 0: no frame needs such a table. */
	uint32_t nr_mapped;
	bool reaches_root; /* @dump reaches the root of the stack: a reader cannot find more frames
			    */
};

enum jp_tables { JP_TABLES_UNREAD, JP_TABLES_RIGHT, JP_TABLES_WRONG };

/* The state from which jp_holder_find() fills a struct jp_held. */
struct jp_holder {
	const struct jp_view *view;
	const struct jp_code_loads *loads;
	const struct jp_shown_files *files;
	struct jp_jit_cfi *jit;
	enum jp_tables *tables; /* of each load in @loads */
	struct jp_truth_stack truth;
	/* Numbers of the processes whose main thread has exited, and of the threads that started
	 * later than that. Values: bool, whether it still holds. Number 0, of all tasks outside of
	 * the profiler's pid namespace, stays in both after the first exit. */
	struct jp_map exited, late;
	uint32_t nr_mapped; /* see struct jp_held */
	bool in_injected;   /* @jit describes the injected file */
};

/* Prepares @holder, whose @view, @loads and @files are set. Returns 0 or -ENOMEM. */
int jp_holder_init(struct jp_holder *holder);
void jp_holder_free(struct jp_holder *holder);
/* Updates the processes and their mappings by @event. Returns 0 or -ENOMEM. */
int jp_holder_apply_event(struct jp_holder *holder, const struct jp_event *event);
/* Returns whether @tid is the number of a thread in jp_holder.late. */
bool jp_holder_is_late(const struct jp_holder *holder, uint32_t tid);
/* Stores in @held what the current file holds for the sample @event, valid until the next call. */
void jp_holder_find(struct jp_holder *holder, const struct jp_event *event, struct jp_held *held);

/* The first difference between the frames that a reader shows and those that the file holds. */
struct jp_shown_fault {
	const char *cause;              /* NULL: none */
	uint32_t frame;                 /* index of the frame */
	uint32_t nr_shown, nr_recorded; /* number of frames */
	bool is_unwound; /* true: the frame is from the stack dump; false: the callchain */
};

/* Returns whether @frame shows @addr. Readers show a caller's frame at its return address or at the
 * address before, and perf 6.1 shows addresses relative to their file (results/FINDINGS.md).
 * @caller: @frame is not the innermost frame. @mapping: the mapping of @addr, or NULL. */
bool jp_shown_frame_has_address(const struct jp_shown_frame *frame, uint64_t addr, bool caller,
				const struct jp_mapping *mapping);
/* Compares @count @frames that a reader shows with @held. A reader shows the callchain, the unwound
 * stack dump, or one after the other. */
struct jp_shown_fault jp_shown_compare(struct jp_replay *spaces, const struct jp_held *held,
				       const struct jp_shown_frame *frames, uint32_t count);
