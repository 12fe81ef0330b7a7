// SPDX-License-Identifier: GPL-2.0-only
#include "validators/mapping_differences.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct jp_memory *get_memory(const struct jp_mapping_differences *all,
					  const struct jp_executable *one)
{
	return &all->truth->memories[one->memory];
}

const char *jp_mapping_extra_cause(const struct jp_mapping_differences *all,
				   const struct jp_executable *last, const struct jp_mapping *known,
				   uint64_t time)
{
	const struct jp_control *control;

	if (!last || known->since > last->close_after + all->view->evidence->info.slack)
		return "invented";
	control = jp_left_out_exec(all->view->evidence, last->pid, last->close_before, time);
	if (control)
		return control->name;
	switch (last->closed_by) {
	case JP_EVENT_MAPS: /* no operation is known: a library was unloaded */
		return "dlclose";
	case JP_EVENT_UNMAP:
		return "munmap";
	case JP_EVENT_REMAP:
		return "mremap";
	case JP_EVENT_PROTECT:
		return "mprotect";
	case JP_EVENT_MAP: /* of memory that is not executable */
		return "not-executable";
	default:
		return "stale";
	}
}

/* Stores in *@first whether @different is new. Differences count once for each operation, as the
 * number of operations bounds expectations; without an operation once for each piece; once for a
 * process of which nothing is known; else once for each record. Returns 0 or -ENOMEM. */
static int mark_listed(struct jp_mapping_differences *all, uint32_t pid,
		       const struct jp_mapping_difference *different, bool *first)
{
	const struct jp_executable *truth = different->truth, *last = different->last;
	const bool extra = !truth && last && strcmp(different->cause, "invented") != 0;
	uint64_t what = extra          ? last->close_before
			: all->nothing ? 0
			: truth && !different->known
				? (all->truth->memories[truth->memory].act
					   ? truth->open_before
					   : (uint64_t)(truth - all->truth->list))
				: different->known->at;
	uint64_t kind = !truth ? 0 : different->known ? 1 : all->nothing ? 3 : 2;
	uint64_t key = (uint64_t)(extra ? last->pid : pid) << 42 ^ what << 2 ^ kind;
	uint64_t *listed = jp_map_at(&all->listed, key, sizeof(*listed));

	if (!listed)
		return -ENOMEM;
	*first = !*listed;
	*listed = 1;
	return 0;
}

static const char *get_name(const struct jp_mapping_differences *all,
			    const struct jp_executable *one)
{
	const struct jp_memory *memory = get_memory(all, one);

	return memory->line && *memory->line->name     ? memory->line->name
	       : memory->act && *memory->act->map.name ? memory->act->map.name
						       : "(no name)";
}

int jp_mapping_report(struct jp_mapping_differences *all, const struct jp_mapping_point *point,
		      const struct jp_mapping_difference *different, uint64_t *count)
{
	const struct jp_executable *truth = different->truth;
	const struct jp_mapping *known = different->known;
	const struct jp_procmap *line = truth ? get_memory(all, truth)->line : NULL;
	char there[128] = "nothing", told[128] = "nothing";
	bool first;
	int failed = mark_listed(all, point->pid, different, &first);

	if (failed || !first)
		return failed;
	++*count;
	if (truth)
		snprintf(there, sizeof(there),
			 "%" PRIx64 "-%" PRIx64 " prot %u %c inode %" PRIu64 " %.60s", truth->start,
			 truth->end, truth->prot, line ? line->shared : '?', line ? line->ino : 0,
			 get_name(all, truth));
	if (known)
		snprintf(told, sizeof(told),
			 "%" PRIx64 "-%" PRIx64 " prot %u flags %x inode %" PRIu64
			 " %.60s of %" PRIu64,
			 known->start, known->end, known->prot, known->flags, known->ino,
			 known->name, known->since);
	return jp_findings_except(
		&all->view->findings, different->metric, different->cause,
		"pid %u, %" PRIx64 "-%" PRIx64 " at %" PRIu64 ": there is %s; the capture has %s",
		point->pid, different->start, different->end, point->time, there, told);
}
