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

/* What one explainer sees of a file. */
struct jp_explain_view {
	const char *path;                          /* of the file */
	struct jp_replay *spaces;                  /* the address spaces, as of now */
	struct jp_file_finder *finder;             /* of the files that the capture names */
	struct jp_changed_files *changed;          /* those of them that are others today */
	struct jp_names *names;                    /* of addresses */
	const struct jp_perfdata_summary *summary; /* for end() alone */
	struct jp_ends *ends;                      /* where stacks end; counted as of the sample */
	uint64_t samples;                          /* up to now */
	struct jp_blames *blames;                  /* where causes go, jp_blame() */
	void *state;                               /* the explainer's own */
};

/*
 * Finds one cause or a small family of them, as what it does at each event of the file. All return
 * 0, or -errno where it cannot go on. Events die with the call; what is needed later is kept, a
 * bounded amount for each mapping or process and not for each sample.
 */
struct jp_explainer {
	const char *name;
	/* Makes @view->state; may be NULL. */
	int (*begin)(struct jp_explain_view *view, struct jp_error *err);
	/* @event has happened: the spaces know of it. @stack: of a sample; else NULL. May be NULL.
	 */
	int (*see)(struct jp_explain_view *view, const struct jp_event *event,
		   const struct jp_stack *stack);
	/* No more events come: blames what it found. */
	int (*end)(struct jp_explain_view *view, struct jp_error *err);
	void (*free)(void *state); /* may be NULL */
};
