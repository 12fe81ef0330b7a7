// SPDX-License-Identifier: GPL-2.0-only
#include "harness/facts/trial.h"

#include <unistd.h>

struct perf_event_attr jp_trial_make_dummy_attr(void)
{
	struct perf_event_attr attr;

	jp_attr_ring(&attr);
	return attr;
}

int jp_trial_open(struct perf_event_attr *attr)
{
	int fd = jp_perf_open(attr, 0, -1);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -fd : 0;
}

bool jp_trial_is_allowed(struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_trial_make_dummy_attr();
	int error = jp_trial_open(&attr);
	char reason[128];

	if (!error)
		return true;
	jp_perf_explain_error(error, reason, sizeof(reason));
	jp_answer_missing(answer, "perf_event_open: %s", reason);
	return false;
}
