/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/base/registry.h"
#include "harness/explain/blame.h"
#include "harness/explain/changed_files.h"
#include "harness/explain/ends.h"
#include "harness/format/event.h"
#include "harness/format/perfdata/summary.h"
#include "harness/model/files/file_finder.h"
#include "harness/model/space/replay.h"
#include "harness/model/symbols/names.h"

/* The data that one explainer gets about a file. */
struct jp_explain_view {
	const char *path;                          /* path of the file */
	struct jp_replay *spaces;                  /* the current address spaces */
	struct jp_file_finder *finder;             /* finds files that the capture names */
	struct jp_changed_files *changed;          /* recorded files that have changed since */
	struct jp_names *names;                    /* names of addresses */
	const struct jp_perfdata_summary *summary; /* valid only in end() */
	struct jp_ends *ends;                      /* stack ends, the current sample's included */
	uint64_t samples;                          /* number of samples so far */
	struct jp_blames *blames;                  /* passed to jp_blame() */
	void *state;                               /* owned by the explainer */
};

/* An explainer finds one cause, or a small family of causes, event by event. Its functions return
 * 0, or -errno if it cannot continue. Events are valid only during the call. An explainer may store
 * a bounded amount of data for each mapping or process, but nothing for each sample. */
struct jp_explainer {
	const char *name;
	size_t state_size; /* bytes of a zeroed @view->state; 0: begin() creates the state, if it
			      needs one */
	/* Creates or changes @view->state; may be NULL. */
	int (*begin)(struct jp_explain_view *view, struct jp_error *err);
	/* Handles @event, which view->spaces have applied already. @stack: the stack of a sample,
	 * or NULL for other events. May be NULL. */
	int (*handle)(struct jp_explain_view *view, const struct jp_event *event,
		      const struct jp_stack *stack);
	/* Blames the found causes, after the last event. */
	int (*end)(struct jp_explain_view *view, struct jp_error *err);
	/* Frees what @state holds, and a state that begin() created; may be NULL. */
	void (*free)(void *state);
};
