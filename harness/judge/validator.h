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

/* Requests of the case, which the run directory must fulfil. */
struct jp_asked {
	bool names;       /* names are published or injected, so that names are judged */
	bool injected;    /* judge names by injected.data */
	uint32_t methods; /* bit mask of the methods of walking a stack; 0: chain and dump */
	const struct jp_listener *listener; /* follows the judgement; NULL: none */
};

/* The data that one validator gets for one judgement. */
struct jp_view {
	const struct jp_evidence *evidence;
	const struct jp_asked *asked;
	const struct jp_control
		*added_back;          /* the control whose omissions are added back; NULL: none */
	const struct jp_spans *truth; /* spans of the truth */
	const struct jp_spans *known; /* spans of perf.data; sorted only in end() */
	const struct jp_machine *machine; /* machine of the truth */
	struct jp_replay *spaces;         /* the capture's current address spaces */
	bool in_injected;                 /* the events are those of injected.data */
	/* The reader's own counts of the files' contents; valid only in end(). */
	const struct jp_perfdata_summary *held, *held_injected;
	struct jp_findings findings;
	void *state; /* the validator's, zeroed before begin() */
};

/* The validator also sees the events of injected.data, if the case has it. */
#define JP_WANTS_INJECTED (UINT32_C(1) << 31)

/* A validator judges a run directory event by event, and depends on nothing else. Its functions
 * return 0, or -errno if it cannot judge at all. A bad capture is a finding, not an error. Events
 * are valid only during the call. */
struct jp_validator {
	const char *name;
	uint32_t traits;   /* JP_WANTS_INJECTED, and each enum jp_lack that it does not need */
	size_t state_size; /* bytes of @view->state */
	/* Prepares @view->state; may be NULL. Returns 1 if there is nothing to judge. */
	int (*begin)(struct jp_view *view, struct jp_error *err);
	/* Time advances to @time, without a change since the last event; may be NULL. */
	int (*advance_to)(struct jp_view *view, uint64_t time);
	/* Handles @event, which the spaces have applied. NULL: begin() judges all. */
	int (*handle)(struct jp_view *view, const struct jp_event *event);
	/* Called after the last event. */
	int (*end)(struct jp_view *view, struct jp_error *err);
	/* Frees what @state holds, even if begin() failed; may be NULL. */
	void (*free)(void *state);
};
