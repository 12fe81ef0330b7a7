// SPDX-License-Identifier: GPL-2.0-only
/* Files that cannot show stacks: recorded without stacks or samples, never completed, or refused by
 * perf. */
#include <inttypes.h>

#include "harness/explain/explainer.h"

struct no_evidence {
	uint64_t without; /* samples of events that request user space, but no stack */
	uint64_t behind;  /* samples that perf does not reach */
};

static int handle_event(struct jp_explain_view *view, const struct jp_event *event,
			const struct jp_stack *stack)
{
	struct no_evidence *state = view->state;
	const struct jp_event_asked *asked = event->asked;
	const uint64_t refused = view->summary->empty_chunk;

	state->behind += stack && refused && event->file_offset >= refused;
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
			  "no sample was lost: LOST and LOST_SAMPLES records count 0: perf report "
			  "-D -i %s",
			  view->path);
	if (summary->cut_short) {
		jp_blame_evidence(blame,
				  "the file is truncated: perf completes the header when perf "
				  "exits: perf report --header-only -i %s",
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
	jp_blame_evidence(blame, "perf inject writes or completes the header at the end, if it "
				 "succeeds");
	jp_blame_evidence(blame, "the bytes after the header belong to no event: ls -l %s",
			  view->path);
	jp_blame_remedy(blame, "read the messages of perf inject, and explain its input: jitproof "
			       "explain perf.data; jitproof inject -i perf.data -o injected.data "
			       "reads damaged jitdumps");
}

static void blame_block(struct jp_explain_view *view, uint64_t behind)
{
	struct jp_blame *blame = jp_blame(view->blames, "unreadable-by-perf", 0, "", NULL, behind);

	jp_blame_evidence(blame,
			  "the compressed record at offset %" PRIu64 " holds only a part of a zstd "
			  "block, and unpacks to nothing",
			  view->summary->empty_chunk);
	jp_blame_evidence(blame,
			  "perf up to 7.3 takes that for an error: perf script -i %s ends with "
			  "\"Couldn't decompress data\"",
			  view->path);
	jp_blame_evidence(
		blame, "%" PRIu64 " of %" PRIu64 " samples are in this record or later in the file",
		behind, view->samples);
	jp_blame_remedy(
		blame,
		"jitproof inject -i %s -o unpacked.data writes all samples for perf; record "
		"without -z, or with smaller dumps (--call-graph dwarf,8192)",
		view->path);
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
	if (state->behind)
		blame_block(view, state->behind);
	return 0;
}

JP_DEFINE(explainer, no_evidence) = {
	.name = "no-evidence",
	.state_size = sizeof(struct no_evidence),
	.handle = handle_event,
	.end = blame_all,
};
