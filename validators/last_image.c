// SPDX-License-Identifier: GPL-2.0-only
#include "validators/last_image.h"

#include "harness/base/search.h"

uint64_t jp_last_image(const struct jp_truth *truth, uint32_t pid)
{
	const struct jp_truth_incarnation *all = truth->incarnations;
	size_t i;

	jp_search(i, truth->nr_incarnations, all[i].pid <= pid);
	return i && all[i - 1].pid == pid ? all[i - 1].before : 0;
}
