// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/oracle/acts_of.h"

static int add_act(struct jp_acts_of *acts, const struct jp_event *act, size_t index)
{
	int failed = jp_groups_add(&acts->processes, act->pid, index);

	if (!failed && (jp_event_starts_process(act) || act->type == JP_EVENT_END))
		failed = jp_groups_add(&acts->lifecycle, act->pid, index);
	if (!failed && act->type == JP_EVENT_FORK)
		failed = jp_groups_add(&acts->threads, act->tid, index);
	return failed;
}

int jp_acts_of_index(struct jp_acts_of *of, const struct jp_event *acts, size_t count)
{
	int failed = 0;

	for (size_t i = 0; !failed && i < count; i++)
		failed = add_act(of, &acts[i], i);
	jp_groups_sort(&of->processes);
	jp_groups_sort(&of->lifecycle);
	jp_groups_sort(&of->threads);
	return failed;
}

void jp_acts_of_free(struct jp_acts_of *acts)
{
	jp_groups_free(&acts->processes);
	jp_groups_free(&acts->lifecycle);
	jp_groups_free(&acts->threads);
}
