// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the workload did to its executable memory that makes no record: bounds of what is found of
 * it. A mapping that lies on after its end needs an act that ended it.
 */
#include <stdlib.h>

#include "harness/judge/validator.h"

/* Whether @act ended a span of the truth: it took something executable away. */
static bool ends_executable(const struct jp_view *view, const struct jp_event *act)
{
	const struct jp_span *end, *span = jp_spans_of(view->truth, act->pid, &end);

	for (; span < end; span++)
		if (span->close_before == act->before &&
		    jp_event_touches(act, span->mapping.start,
				     span->mapping.end - span->mapping.start))
			return true;
	return false;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_truth *truth = view->evidence->truth;
	uint64_t unmapped = 0, closed = 0, moved = 0;
	struct jp_findings *findings = &view->findings;

	for (size_t i = 0; i < truth->nr_acts; i++) {
		const struct jp_event *act = &truth->acts[i];

		if (act->type != JP_EVENT_UNMAP && act->type != JP_EVENT_PROTECT &&
		    act->type != JP_EVENT_REMAP)
			continue;
		if (!ends_executable(view, act))
			continue;
		unmapped += act->type == JP_EVENT_UNMAP;
		closed += act->type == JP_EVENT_PROTECT;
		moved += act->type == JP_EVENT_REMAP;
	}
	jp_findings_add_count(findings, "acts.munmap", unmapped);
	jp_findings_add_count(findings, "acts.mprotect", closed);
	jp_findings_add_count(findings, "acts.mremap", moved);
	return 0;
}

static const struct jp_validator acts = {
	.name = "acts",
	.help = "how often did the workload end executable memory without a record?",
	.traits = JP_LACKS_ALL,
	.begin = begin,
};
JP_REGISTER(validator, acts);
