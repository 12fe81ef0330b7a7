// SPDX-License-Identifier: GPL-2.0-only
#include "validators/last_image.h"

uint64_t jp_last_image(const struct jp_truth *truth, uint32_t pid)
{
	uint64_t last = 0;

	for (size_t i = 0; i < truth->nr_incarnations; i++)
		if (truth->incarnations[i].pid == pid)
			last = truth->incarnations[i].before;
	return last;
}
