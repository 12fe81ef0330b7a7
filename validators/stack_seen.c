// SPDX-License-Identifier: GPL-2.0-only
#include "validators/stack_seen.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "validators/stack_verdict.h"

bool jp_seen_is_broken_in_perfview(const struct jp_view *view, const struct jp_event *event,
				   const struct jp_seen_stack *seen)
{
	const struct jp_mapping *outermost;

	if (!seen->unwound.count)
		return true;
	outermost = jp_replay_find(view->spaces, event->pid,
				   seen->unwound.frames[seen->unwound.count - 1]);
	return !outermost || outermost->backing != JP_BACKING_FILE;
}

int jp_seen_report(struct jp_view *view, const struct jp_truth_stack *truth,
		   const struct jp_event *event, const char *metric,
		   const struct jp_seen_stack *seen)
{
	const struct jp_truth_code *code = truth->activation->path->functions[truth->depth];
	const struct jp_unwound *unwound = &seen->unwound;
	struct jp_exception *exception =
		jp_findings_count(&view->findings, metric, seen->method, seen->fault.cause);
	char text[256];

	if (!exception || exception->count > 1)
		return exception ? 0 : -ENOMEM;
	snprintf(exception->first, sizeof(exception->first),
		 "%s at %" PRIu64 ", %u/%u, ip %" PRIx64
		 " in %s+%#x, depth %u of %u: %u frames seen, "
		 "%u must be, equal up to frame %u; %s",
		 jp_verdict_text(seen->verdict), event->time, event->pid, event->tid,
		 truth->whole[0], code->name, truth->offset, truth->depth + 1,
		 truth->activation->path->depth, unwound->count, truth->nr_seen,
		 jp_stack_same(unwound->frames, unwound->count, truth->seen, truth->nr_seen),
		 jp_stack_fault_text(&seen->fault, view->evidence, event, unwound, text,
				     sizeof(text)));
	return 0;
}
