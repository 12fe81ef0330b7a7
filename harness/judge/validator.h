/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/error.h"
#include "harness/base/registry.h"
#include "harness/format/event.h"
#include "harness/judge/findings.h"
#include "harness/judge/spans.h"
#include "harness/format/perfdata/summary.h"
#include "harness/model/evidence/control.h"
#include "harness/model/machine/machine.h"
#include "harness/model/space/replay.h"

/* What the case asked for; the run directory then holds it, or it is missing. */
struct jp_asked {
	bool names;       /* names are published, or injected: validators of names speak */
	bool injected;    /* injected.data is what the names are judged by */
	uint32_t methods; /* ways of walking a stack, a bit each; 0: chain and dump */
};

/* What one validator of one judging sees. */
struct jp_view {
	const struct jp_evidence *evidence;
	const struct jp_asked *asked;
	const struct jp_control *added_back; /* what it left out is seen too; NULL: nothing is */
	const struct jp_spans *truth;        /* of the truth */
	const struct jp_spans *known;        /* of perf.data; sorted in end() alone */
	const struct jp_machine *machine;    /* of the truth */
	struct jp_replay *spaces;            /* the capture's address spaces, as of now */
	bool in_injected;                    /* the events are those of injected.data */
	/* What the files hold, by their reader's own count; for end() alone. */
	const struct jp_perfdata_summary *held, *held_injected;
	struct jp_findings findings;
	void *state; /* the validator's own */
};

/* The events of injected.data follow, where the case has it. */
#define JP_WANTS_INJECTED (UINT32_C(1) << 31)

/*
 * A pure function of a run directory, written as what it does at each event of the capture. All
 * return 0, or -errno where the validator cannot judge at all; a bad capture is a finding. Events
 * die with the call; what is needed later is kept.
 */
struct jp_validator {
	const char *name;
	const char *help;
	uint32_t traits; /* JP_WANTS_INJECTED, and each enum jp_lack that it can do without */
	/* Makes @view->state; NULL: there is nothing to judge here. */
	int (*begin)(struct jp_view *view, struct jp_error *err);
	/* Time goes on to @time, and nothing has changed since the last event; may be NULL. */
	int (*until)(struct jp_view *view, uint64_t time);
	/* @event has happened: the spaces know of it. */
	int (*see)(struct jp_view *view, const struct jp_event *event);
	/* No more events come. */
	int (*end)(struct jp_view *view, struct jp_error *err);
	void (*free)(void *state);
};
