/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/search.h"
#include "harness/model/oracle/truth.h"

/* Returns the start of the last exec of @pid, in ns, or 0. Each exec begins a new perf map and
 * jitdump. */
static inline uint64_t jp_find_last_exec(const struct jp_truth *truth, uint32_t pid)
{
	const struct jp_truth_incarnation *all = truth->incarnations;
	size_t i;

	jp_search(i, truth->nr_incarnations, all[i].pid <= pid);
	return i && all[i - 1].pid == pid ? all[i - 1].before : 0;
}
