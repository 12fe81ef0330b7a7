// SPDX-License-Identifier: GPL-2.0-only
/* Stated modes: our capture states whether it samples the kernel, which decides what its samples
 * must show. Its events must have asked for the same. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/judge/validator.h"

static int see(struct jp_view *view, const struct jp_event *event)
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
	if (view->evidence->info.absent)
		return 0;
	view->state = calloc(1, 1);
	return view->state ? 0 : -ENOMEM;
}

static const struct jp_validator stated_modes = {
	.name = "stated_modes",
	.help = "are the events asked for the kernel where the capture states it?",
	.begin = begin,
	.see = see,
	.end = end,
	.free = free,
};
JP_REGISTER(validator, stated_modes);
