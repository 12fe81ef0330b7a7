// SPDX-License-Identifier: GPL-2.0-only
/* Stated modes: the events must sample the kernel if and only if jitproof's capture states that
 * they do. */
#include <stdio.h>

#include "harness/judge/validator.h"

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	const struct jp_capture_info *info = &view->evidence->info;

	if (event->type == JP_EVENT_SAMPLE && event->asked && event->asked->kernel != info->kernel)
		snprintf(view->findings.error, sizeof(view->findings.error),
			 "the capture states kernel %s; event %u of perf.data %s",
			 info->kernel ? "yes" : "no", event->attr,
			 info->kernel ? "leaves it out" : "samples it");
	return 0;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	return 0;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	return view->evidence->info.absent != NULL;
}

JP_DEFINE(validator, stated_modes) = {
	.name = "stated_modes",
	.begin = begin,
	.handle = handle_event,
	.end = end,
};
