// SPDX-License-Identifier: GPL-2.0-only
/* Controls: policies that synthesize records for only a part of a snapshot. `none` skips all
 * mappings, `paths` those without a path (one-collect#295). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/model/evidence/control.h"

/* Returns whether the capture used @policy and @policy skips @map. */
static bool is_skipped_by_policy(const struct jp_evidence *evidence, enum jp_synth policy,
				 const struct jp_procmap *map)
{
	return map->prot & JP_PROT_EXEC &&
	       strcmp(evidence->info.policy, jp_synth_text(policy)) == 0 &&
	       (policy == JP_SYNTH_NONE || !*map->name);
}

/* Returns whether the events were enabled at @what->act, so that the kernel had to record it. */
static bool has_record(const struct jp_left_out *what)
{
	const struct jp_capture_info *info = &what->evidence->info;

	return what->act->type != JP_EVENT_REMAP && what->act->before > info->enabled + info->slack;
}

static bool omits_mapping(struct jp_left_out *what, enum jp_synth policy)
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
			    is_skipped_by_policy(evidence, policy, what->map))
				return true;
		}
	}
	return false;
}

static void describe(const struct jp_left_out *what, char *text, size_t size)
{
	const struct jp_procmap *map = what->map;

	snprintf(text, size,
		 "%" PRIx64 "-%" PRIx64 " %s of pid %u is older than the capture, and "
		 "policy %s skipped it",
		 map->start, map->end, *map->name ? map->name : "(no path)", what->pid,
		 what->evidence->info.policy);
}

static int add_back(const struct jp_evidence *evidence, enum jp_synth policy,
		    struct jp_extras *extras)
{
	int failed = 0;

	for (size_t i = 0; i < evidence->snapshots.count; i++) {
		const struct jp_snapshot *snapshot = &evidence->snapshots.list[i];

		for (size_t j = 0; !failed && j < snapshot->count; j++)
			if (is_skipped_by_policy(evidence, policy, &snapshot->maps[j]))
				failed = jp_extras_add_map(extras, snapshot, &snapshot->maps[j]);
	}
	return failed;
}

static bool omits_by_none(struct jp_left_out *what, uint64_t time)
{
	return omits_mapping(what, JP_SYNTH_NONE);
}

static int add_back_by_none(const struct jp_evidence *evidence, struct jp_extras *extras)
{
	return add_back(evidence, JP_SYNTH_NONE, extras);
}

static const struct jp_control snapshot_control = {
	.name = "snapshot",
	.mapping = omits_by_none,
	.describe = describe,
	.add_back = add_back_by_none,
};
JP_REGISTER(control, snapshot_control);

static bool omits_by_paths(struct jp_left_out *what, uint64_t time)
{
	return omits_mapping(what, JP_SYNTH_PATHS);
}

static int add_back_by_paths(const struct jp_evidence *evidence, struct jp_extras *extras)
{
	return add_back(evidence, JP_SYNTH_PATHS, extras);
}

static const struct jp_control pathless = {
	.name = "pathless",
	.mapping = omits_by_paths,
	.describe = describe,
	.add_back = add_back_by_paths,
};
JP_REGISTER(control, pathless);
