/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/base/registry.h"
#include "harness/format/event.h"
#include "harness/judge/findings.h"
#include "harness/judge/listener.h"
#include "harness/judge/spans.h"
#include "harness/format/perfdata/summary.h"
#include "harness/model/evidence/control.h"
#include "harness/model/machine/machine.h"
#include "harness/model/space/replay.h"

/* What the case requests of the judgement. The run directory must contain the data for it. */
struct jp_asked {
	bool names;       /* the case publishes or injects names, so names are judged */
	bool injected;    /* names are judged by the contents of injected.data */
	uint32_t methods; /* bit mask of enum jp_method: the methods that walk stacks; 0: JP_CHAIN
			     and JP_DUMP */
	const struct jp_listener *listener; /* receives each event and verdict; NULL: none */
};

/* The data of one validator in one judgement. */
struct jp_view {
	const struct jp_evidence *evidence;
	const struct jp_asked *asked;
	const struct jp_control *added_back; /* the control whose left-out events are added back in
						this judgement; NULL: none */
	const struct jp_spans *truth;        /* spans of the truth */
	const struct jp_spans *recorded;     /* spans of perf.data; not sorted before end() */
	const struct jp_machine *machine;    /* machine of the truth */
	struct jp_replay *spaces;            /* the capture's current address spaces */
	bool in_injected;                    /* handle() now receives the events of injected.data */
	/* Counts by the reader of perf.data and of injected.data; valid only in end(). */
	const struct jp_perfdata_summary *summary, *injected_summary;
	struct jp_findings findings;
	void *state; /* the validator's own state: zeros and a pointer to this view */
};

/* Trait: the validator also handles the events of injected.data, if the case has that file. */
#define JP_WANTS_INJECTED (UINT32_C(1) << 31)

/* A validator judges a run directory event by event and depends on no other validator. Its
 * functions return 0, or -errno if it cannot judge at all: a bad capture is a finding, not an
 * error. Events are valid only during the call. */
struct jp_validator {
	const char *name;
	uint32_t traits;   /* JP_WANTS_INJECTED, and each enum jp_lack without whose data the
			      validator can still judge */
	size_t state_size; /* bytes of @view->state, which begins with a struct jp_view *: @view;
			      0: no state */
	/* Prepares @view->state; may be NULL. Returns 1 if there is nothing to judge. */
	int (*begin)(struct jp_view *view, struct jp_error *err);
	/* Judges the time up to @time, in which nothing changed since the last event; may be
	 * NULL. */
	int (*advance_to)(struct jp_view *view, uint64_t time);
	/* Handles @event, which was applied to view->spaces. NULL: begin() judges everything. */
	int (*handle)(struct jp_view *view, const struct jp_event *event);
	/* Called after the last event. */
	int (*end)(struct jp_view *view, struct jp_error *err);
	/* Frees what @state holds, even if begin() failed; may be NULL. */
	void (*free)(void *state);
};
