// SPDX-License-Identifier: GPL-2.0-only
/* Compares the window that a capture states with the runner's observations. */
#include "harness/outcome/checks.h"

#include <inttypes.h>
#include <string.h>

struct bounds {
	const char *key;
	uint64_t value, min, max;
};

/* Checks what only our captures state: dropped duplicates, the time at which the first event was
 * enabled, the CPUs, and what the events counted, which cannot exceed the CPUs' time. */
static void check_own_capture(const struct jp_capture_info *info,
			      const struct jp_watched_info *watched, struct jp_result *result)
{
	const uint64_t max = (watched->ended - watched->started) * watched->cpus;

	if (!watched->cpus)
		return;
	if (!info->first_enabled && info->duplicates)
		jp_note(result, JP_ERROR,
			"the capture states %" PRIu64
			" duplicates; only jitproof's captures drop any",
			info->duplicates);
	if (!info->first_enabled)
		return;
	if (info->first_enabled < watched->started || info->first_enabled > info->enabled)
		jp_note(result, JP_ERROR,
			"the capture states first_enabled %" PRIu64
			"; its window began at %" PRIu64,
			info->first_enabled, info->enabled);
	if (info->cpus > watched->cpus)
		jp_note(result, JP_ERROR,
			"the capture states %" PRIu64 " CPUs; the runner saw %" PRIu64, info->cpus,
			watched->cpus);
	if (!info->breakpoints && !info->duplicates && info->counted > max)
		jp_note(result, JP_ERROR,
			"the capture states that its events counted %" PRIu64
			" ns; the CPUs ran for at most %" PRIu64,
			info->counted, max);
}

void jp_check_window(const struct jp_evidence *evidence, struct jp_result *result)
{
	const struct jp_capture_info *info = &evidence->info;
	const struct jp_watched_info *watched = &evidence->watched;
	/* The window must lie between the start and the end of the profiler, and include the time
	 * in which the runner knew that samples were taken. */
	const struct bounds bounds[] = {
		{"enabled", info->enabled, watched->started, watched->sampling_since},
		{"sampling", info->sampling, watched->started, watched->sampling_since},
		{"stopped", info->stopped, watched->ending, watched->ended},
		{"slack", info->slack, watched->slack, watched->slack},
		{"max_stack", info->max_stack, watched->max_stack, watched->max_stack},
		{"stack_dump", info->stack_dump, watched->stack_dump, watched->stack_dump},
	};

	if (!watched->started)
		return;
	check_own_capture(info, watched, result);
	if (watched->cpus &&
	    strcmp(info->policy, jp_synth_text((enum jp_synth)watched->synth)) != 0)
		jp_note(result, JP_ERROR,
			"the capture states that it synthesized %s, the runner asked for %s",
			info->policy, jp_synth_text((enum jp_synth)watched->synth));
	for (const struct bounds *bound = bounds; bound < bounds + sizeof(bounds) / sizeof(*bounds);
	     bound++)
		if (bound->value < bound->min || bound->value > bound->max)
			jp_note(result, JP_ERROR,
				"the capture states %s %" PRIu64 "; the runner saw %" PRIu64
				" to %" PRIu64,
				bound->key, bound->value, bound->min, bound->max);
}
