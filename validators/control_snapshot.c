// SPDX-License-Identifier: GPL-2.0-only
/* Policy `none`: no entry of the snapshot became a record. */
#include "validators/control_snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Returns whether the events were enabled at @what->act, so that the kernel had to record it. */
static bool has_record(const struct jp_left_out *what)
{
	const struct jp_capture_info *info = &what->evidence->info;

	return what->act->type != JP_EVENT_REMAP && what->act->before > info->enabled + info->slack;
}

bool jp_skipped_mapping(struct jp_left_out *what, jp_skips skips)
{
	const struct jp_evidence *evidence = what->evidence;

	for (size_t i = 0; !jp_evidence_gated(evidence) && i < evidence->snapshots.count; i++) {
		const struct jp_snapshot *snapshot = &evidence->snapshots.list[i];

		/* The policy left out neither later mappings nor those that the kernel recorded. */
		if (snapshot->pid != what->pid ||
		    (what->act && (what->act->before > snapshot->after || has_record(what))))
			continue;
		for (size_t j = 0; j < snapshot->count; j++) {
			what->map = &snapshot->maps[j];
			if (what->ip >= what->map->start && what->ip < what->map->end &&
			    skips(evidence, what->map))
				return true;
		}
	}
	return false;
}

void jp_skipped_describe(const struct jp_left_out *what, char *text, size_t size)
{
	const struct jp_procmap *map = what->map;

	snprintf(text, size,
		 "%" PRIx64 "-%" PRIx64 " %s of pid %u is older than the capture, and "
		 "policy %s skipped it",
		 map->start, map->end, *map->name ? map->name : "(no path)", what->pid,
		 what->evidence->info.policy);
}

int jp_skipped_add_back(const struct jp_evidence *evidence, struct jp_extras *extras,
			jp_skips skips)
{
	int failed = 0;

	for (size_t i = 0; i < evidence->snapshots.count; i++) {
		const struct jp_snapshot *snapshot = &evidence->snapshots.list[i];

		for (size_t j = 0; !failed && j < snapshot->count; j++)
			if (skips(evidence, &snapshot->maps[j]))
				failed = jp_extras_add_map(extras, snapshot, &snapshot->maps[j]);
	}
	return failed;
}

static bool skips_entry(const struct jp_evidence *evidence, const struct jp_procmap *map)
{
	return (map->prot & JP_PROT_EXEC) && strcmp(evidence->info.policy, "none") == 0;
}

static bool omits_mapping(struct jp_left_out *what, uint64_t time)
{
	return jp_skipped_mapping(what, skips_entry);
}

static int add_back(const struct jp_evidence *evidence, struct jp_extras *extras)
{
	return jp_skipped_add_back(evidence, extras, skips_entry);
}

static const struct jp_control snapshot_control = {
	.name = "snapshot",
	.mapping = omits_mapping,
	.describe = jp_skipped_describe,
	.add_back = add_back,
};
JP_REGISTER(control, snapshot_control);
