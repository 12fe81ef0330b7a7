// SPDX-License-Identifier: GPL-2.0-only
/* Files that cannot show stacks: recorded without stacks, without samples, or never completed. */
#include <inttypes.h>

#include "harness/explain/explainer.h"

struct no_evidence {
	uint64_t without; /* samples of events that request user space, but no stack */
};

static int handle_event(struct jp_explain_view *view, const struct jp_event *event,
			const struct jp_stack *stack)
{
	struct no_evidence *state = view->state;
	const struct jp_event_asked *asked = event->asked;

	state->without += stack && asked && asked->user && !asked->chain && !asked->stack;
	return 0;
}

static void blame_recording(struct jp_explain_view *view, uint64_t without)
{
	struct jp_blame *blame = jp_blame(view->blames, "no-call-graph", 0, "", NULL, without);

	jp_blame_evidence(blame,
			  "%" PRIu64 " of %" PRIu64
			  " samples are of events without callchain and without stack dump",
			  without, view->samples);
	jp_blame_evidence(blame, "sample_type lacks CALLCHAIN and STACK_USER: perf evlist -v -i %s",
			  view->path);
	jp_blame_evidence(blame, "each sample has its own address alone: perf script -i %s",
			  view->path);
	jp_blame_remedy(blame, "record again with -g (frame pointers), or with --call-graph dwarf");
}

/* Blames a file without samples. The blame has one sample, because at least one is missing. */
static void blame_silence(struct jp_explain_view *view)
{
	const struct jp_perfdata_summary *summary = view->summary;
	struct jp_blame *blame = jp_blame(view->blames, "no-samples", 0, "", NULL, 1);

	if (blame)
		blame->absent = 1;
	jp_blame_evidence(blame,
			  "the file has %" PRIu64 " records of %" PRIu32 " events, 0 samples",
			  summary->records, summary->attrs);
	jp_blame_evidence(blame,
			  "none was lost: 0 LOST records with a count, 0 LOST_SAMPLES; see them: "
			  "perf report -D -i %s",
			  view->path);
	if (summary->cut_short) {
		jp_blame_evidence(blame,
				  "the file is cut short: perf completes it when it ends: "
				  "perf report --header-only -i %s",
				  view->path);
		jp_blame_remedy(blame, "end perf record by SIGINT (Ctrl-C) or SIGTERM: after "
				       "SIGKILL, samples that it had not written are lost");
		return;
	}
	jp_blame_evidence(blame,
			  "%" PRIu32 " of the events begin at an exec; see periods and flags: perf "
			  "evlist -v -i %s",
			  summary->on_exec, view->path);
	jp_blame_remedy(blame,
			"record while the program uses the CPU, for longer or with a higher -F; in "
			"a virtual machine without counters with -e cpu-clock: perf record -g -e "
			"cpu-clock -F 999 -p PID");
}

/* Blames a file whose header was never completed. */
static void blame_writer(struct jp_explain_view *view)
{
	struct jp_blame *blame = jp_blame(view->blames, "failed-inject", 0, "", NULL, 1);

	if (blame)
		blame->absent = 1;
	jp_blame_evidence(blame,
			  "the header states neither events nor data: expected \"PERFILE2\", an "
			  "attr size at offset 16 and attrs at 24: xxd -l 104 %s",
			  view->path);
	jp_blame_evidence(blame, "perf inject writes the header at last, or completes it only if "
				 "it succeeds");
	jp_blame_evidence(blame, "the bytes after the header belong to no event: ls -l %s",
			  view->path);
	jp_blame_remedy(blame, "see what perf inject printed, and ask about its input: jitproof "
			       "explain perf.data; jitproof inject -i perf.data -o injected.data "
			       "reads damaged jitdumps");
}

static int blame_all(struct jp_explain_view *view, struct jp_error *err)
{
	const struct no_evidence *state = view->state;
	const struct jp_perfdata_summary *summary = view->summary;

	if (summary->unwritten)
		blame_writer(view);
	else if (!view->samples && !summary->lost_samples && !summary->lost_events)
		blame_silence(view);
	else if (state->without)
		blame_recording(view, state->without);
	return 0;
}

static const struct jp_explainer no_evidence = {
	.name = "no-evidence",
	.state_size = sizeof(struct no_evidence),
	.handle = handle_event,
	.end = blame_all,
};
JP_REGISTER(explainer, no_evidence);
