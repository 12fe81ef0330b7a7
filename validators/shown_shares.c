// SPDX-License-Identifier: GPL-2.0-only
#include "validators/shown_shares.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/sort.h"

JP_ORDER(compare_sums, struct jp_share_sums,
	 jp_compare(a->tid, b->tid) ?: strcmp(a->name, b->name));

ssize_t jp_shown_sum_shares(const struct jp_shown *shown, struct jp_share_sums **sums)
{
	struct jp_share_sums *all = calloc(shown->count + shown->nr_shares + 1, sizeof(*all));
	size_t count = 0, kept = 0;

	*sums = all;
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < shown->count; i++)
		if (shown->samples[i].top.name)
			all[count++] = (struct jp_share_sums){shown->samples[i].tid,
							      shown->samples[i].top.name, 1, 0};
	for (size_t i = 0; i < shown->nr_shares; i++)
		all[count++] = (struct jp_share_sums){shown->shares[i].tid, shown->shares[i].name,
						      0, shown->shares[i].samples};
	jp_sort(all, count, compare_sums);
	for (size_t i = 0; i < count; i++) {
		if (i && compare_sums(&all[kept - 1], &all[i]) == 0) {
			all[kept - 1].samples += all[i].samples;
			all[kept - 1].share += all[i].share;
		} else {
			all[kept++] = all[i];
		}
	}
	return (ssize_t)kept;
}
