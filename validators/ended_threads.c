// SPDX-License-Identifier: GPL-2.0-only
#include "validators/ended_threads.h"

#include <errno.h>

/* A thread that calls exec gets the number of the first thread, which has ended. */
int jp_ended_threads_note(struct jp_map *ended, const struct jp_event *event)
{
	const bool is_exec = event->type == JP_EVENT_COMM && event->comm.exec;
	bool *has_ended;

	if (event->type != JP_EVENT_FORK && event->type != JP_EVENT_EXIT && !is_exec)
		return 0;
	has_ended = jp_map_at(ended, event->tid, sizeof(*has_ended));
	if (!has_ended)
		return -ENOMEM;
	*has_ended = event->type == JP_EVENT_EXIT;
	return 0;
}

/* perf_event_pid_type() gives a released thread the number UINT32_MAX. */
bool jp_ended_threads_have(const struct jp_map *ended, const struct jp_event *event)
{
	const bool *has_ended = jp_map_find(ended, event->tid);

	return ((has_ended && *has_ended) || event->tid == UINT32_MAX) && !event->sample.user &&
	       !event->sample.regs_abi;
}
