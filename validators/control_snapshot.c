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

/* Returns whether the events were enabled at @left_out->act, so that the kernel had to record it.
 */
static bool has_record(const struct jp_left_out *left_out)
{
	const struct jp_capture_info *info = &left_out->evidence->info;

	return left_out->act->type != JP_EVENT_REMAP &&
	       left_out->act->before > info->enabled + info->slack;
}

static bool omits_mapping(struct jp_left_out *left_out, enum jp_synth policy)
{
	const struct jp_evidence *evidence = left_out->evidence;

	for (size_t i = 0; !jp_evidence_is_gated(evidence) && i < evidence->snapshots.count; i++) {
		const struct jp_snapshot *snapshot = &evidence->snapshots.list[i];

		/* The policy left out neither later mappings nor those that the kernel recorded. */
		if (snapshot->pid != left_out->pid ||
		    (left_out->act &&
		     (left_out->act->before > snapshot->after || has_record(left_out))))
			continue;
		for (size_t j = 0; j < snapshot->count; j++) {
			left_out->map = &snapshot->maps[j];
			if (left_out->ip >= left_out->map->start &&
			    left_out->ip < left_out->map->end &&
			    is_skipped_by_policy(evidence, policy, left_out->map))
				return true;
		}
	}
	return false;
}

static void describe(const struct jp_left_out *left_out, char *text, size_t size)
{
	const struct jp_procmap *map = left_out->map;

	snprintf(text, size,
		 "%" PRIx64 "-%" PRIx64 " %s of pid %u is older than the capture, and "
		 "policy %s skipped it",
		 map->start, map->end, *map->name ? map->name : "(no path)", left_out->pid,
		 left_out->evidence->info.policy);
}

static int add_back(const struct jp_evidence *evidence, enum jp_synth policy,
		    struct jp_extras *added_records)
{
	int failed = 0;

	for (size_t i = 0; i < evidence->snapshots.count; i++) {
		const struct jp_snapshot *snapshot = &evidence->snapshots.list[i];

		for (size_t j = 0; !failed && j < snapshot->count; j++)
			if (is_skipped_by_policy(evidence, policy, &snapshot->maps[j]))
				failed = jp_extras_add_map(added_records, snapshot,
							   &snapshot->maps[j]);
	}
	return failed;
}

static bool omits_by_none(struct jp_left_out *left_out, uint64_t time)
{
	return omits_mapping(left_out, JP_SYNTH_NONE);
}

static int add_back_by_none(const struct jp_evidence *evidence, struct jp_extras *added_records)
{
	return add_back(evidence, JP_SYNTH_NONE, added_records);
}

JP_DEFINE(control, snapshot_control) = {
	.name = "snapshot",
	.mapping = omits_by_none,
	.describe = describe,
	.add_back = add_back_by_none,
};

static bool omits_by_paths(struct jp_left_out *left_out, uint64_t time)
{
	return omits_mapping(left_out, JP_SYNTH_PATHS);
}

static int add_back_by_paths(const struct jp_evidence *evidence, struct jp_extras *added_records)
{
	return add_back(evidence, JP_SYNTH_PATHS, added_records);
}

JP_DEFINE(control, pathless) = {
	.name = "pathless",
	.mapping = omits_by_paths,
	.describe = describe,
	.add_back = add_back_by_paths,
};
