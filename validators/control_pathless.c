// SPDX-License-Identifier: GPL-2.0-only
/* Policy `paths`: only snapshot entries with a path became records (one-collect#295). */
#include <string.h>

#include "validators/control_snapshot.h"

static bool skips_entry(const struct jp_evidence *evidence, const struct jp_procmap *map)
{
	return (map->prot & JP_PROT_EXEC) && !*map->name &&
	       strcmp(evidence->info.policy, "paths") == 0;
}

static bool omits_mapping(struct jp_left_out *what, uint64_t time)
{
	return jp_skipped_mapping(what, skips_entry);
}

static int add_back(const struct jp_evidence *evidence, struct jp_extras *extras)
{
	return jp_skipped_add_back(evidence, extras, skips_entry);
}

static const struct jp_control pathless = {
	.name = "pathless",
	.mapping = omits_mapping,
	.describe = jp_skipped_describe,
	.add_back = add_back,
};
JP_REGISTER(control, pathless);
