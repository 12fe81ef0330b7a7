// SPDX-License-Identifier: GPL-2.0-only
/* Policy `paths`: only entries of the snapshot with a path became records (one-collect#295). */
#include <string.h>

#include "validators/control_snapshot.h"

static bool skips(const struct jp_evidence *evidence, const struct jp_procmap *map)
{
	return (map->prot & JP_PROT_EXEC) && !*map->name &&
	       strcmp(evidence->info.policy, "paths") == 0;
}

static bool mapping(struct jp_left_out *what, uint64_t time)
{
	return jp_skipped_mapping(what, skips);
}

static int add_back(const struct jp_evidence *evidence, struct jp_extras *extras)
{
	return jp_skipped_add_back(evidence, extras, skips);
}

static const struct jp_control pathless = {
	.name = "pathless",
	.help = "executable entries of the snapshot without a path, by policy `paths`",
	.mapping = mapping,
	.describe = jp_skipped_describe,
	.add_back = add_back,
};
JP_REGISTER(control, pathless);
