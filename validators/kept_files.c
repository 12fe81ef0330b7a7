// SPDX-License-Identifier: GPL-2.0-only
/* Kept files: each ELF file that the capture copied for unwinding must have been mapped, be
 * readable, and be unchanged. Each mapping record must state the generation of the file's inode. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/map.h"
#include "harness/base/path.h"
#include "harness/format/elf/elf_file.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/executable_load.h"
#include "harness/model/space/mapping_name.h"
#include "harness/model/unwind/elf_store.h"
#include "validators/gate_names.h"

/* The last record that states the generation of an inode. */
struct inode_generation {
	uint64_t gen, time, addr;
	uint32_t pid;
};

/* Whether mapping records confirm a line of the index of kept files. */
struct line_support {
	bool mapped;        /* a mapping has the line's path and inode */
	bool generation;    /* a record has the line's inode generation */
	uint64_t nr_others; /* records of the inode and path with another generation */
	struct inode_generation other_generation; /* the first of them */
};

struct kept {
	struct jp_view *view;
	struct jp_elf_store *store;
	struct jp_executables truth;
	struct jp_map inodes;         /* inode and device -> struct inode_generation */
	struct line_support *support; /* by line number of the index */
	uint64_t records, nr_wrong, files, nr_bad_files;
};

/* Returns whether our own capture wrote the record. If another profiler's record has no generation,
 * we cannot know whether the kernel wrote it. */
static bool is_record_of_own_capture(const struct kept *state, const struct jp_event *map)
{
	return map->record && state->view->evidence->info.first_enabled;
}

/* Returns whether @pid lived from @from to @to, in ns. The files that a process executes exist
 * until the process exits. */
static bool is_alive(const struct kept *state, uint32_t pid, uint64_t from, uint64_t to)
{
	const struct jp_truth *truth = state->view->evidence->truth;

	for (size_t i = 0;
	     jp_groups_next(&truth->acts_of.lifecycle, pid, &i) && truth->acts[i].before <= to; i++)
		if (truth->acts[i].type == JP_EVENT_END && truth->acts[i].after >= from)
			return false;
	return true;
}

/* Returns whether the mapping of @generation, and so its file, surely existed at @time. */
static bool certainly_exists(const struct kept *state, const struct inode_generation *generation,
			     uint64_t time)
{
	const uint64_t slack = state->view->evidence->info.slack;
	const struct jp_executable *executable;
	size_t cursor = SIZE_MAX;

	while ((executable = jp_executables_next(&state->truth, generation->pid, generation->addr,
						 generation->addr + 1, &cursor)))
		if (executable->open_before <= generation->time + slack &&
		    (executable->close_before == UINT64_MAX ||
		     time + slack < executable->close_before))
			return is_alive(state, generation->pid, generation->time - slack,
					time + slack);
	return false;
}

/* Notes the lines of the index whose generation @map has. If it has none, and a line was read from
 * the mapped file, notes that @map has another generation than the line. */
static void note_generation(struct kept *state, const struct jp_event *map)
{
	const struct jp_elf_line *line;
	struct line_support *other_line = NULL;
	bool has_same = false;

	for (size_t i = 0; (line = jp_elf_store_line(state->store, i)); i++) {
		if (!line->has_generation || line->ino != map->map.ino ||
		    line->maj != map->map.maj || line->min != map->map.min)
			continue;
		if (line->gen == map->map.gen)
			state->support[i].generation = has_same = true;
		if (line->snapshot && strcmp(line->path, map->map.name) == 0)
			other_line = &state->support[i];
	}
	if (!other_line || has_same)
		return;
	if (!other_line->nr_others++)
		other_line->other_generation =
			(struct inode_generation){map->map.gen, map->time, map->map.addr, map->pid};
}

/* Returns whether we synthesized the record from /proc/PID/maps, which has no generation. */
static bool is_synthesized(const struct kept *state, const struct jp_event *map)
{
	const struct jp_evidence *evidence = state->view->evidence;

	return is_record_of_own_capture(state, map) &&
	       (!map->time || jp_gate_find_backfill(evidence, map) ||
		(!map->map.gen &&
		 jp_snapshots_cover_time(&evidence->snapshots, map->pid, map->time)));
}

/* Judges the inode generation in a record. It cannot change as long as the inode exists. */
static int judge_generation(struct kept *state, const struct jp_event *map)
{
	const bool synthesized = is_synthesized(state, map);
	uint64_t key = map->map.ino ^ (uint64_t)map->map.maj << 52 ^ (uint64_t)map->map.min << 44;
	struct inode_generation *generation = jp_map_at(&state->inodes, key, sizeof(*generation));
	bool is_wrong;

	if (!generation)
		return -ENOMEM;
	state->records++;
	is_wrong = synthesized ? map->map.gen != 0
			       : generation->pid && generation->gen != map->map.gen &&
					 certainly_exists(state, generation, map->time);
	if (!synthesized) {
		note_generation(state, map);
		*generation =
			(struct inode_generation){map->map.gen, map->time, map->map.addr, map->pid};
	}
	if (!is_wrong)
		return 0;
	state->nr_wrong++;
	return jp_findings_count_failure(
		&state->view->findings, "mappings.generation", "other-generation",
		"pid %u at %" PRIu64 ": inode %" PRIu64 " of %x:%x is recorded with "
		"generation %" PRIu64 ": %.100s",
		map->pid, map->time, map->map.ino, map->map.maj, map->map.min, map->map.gen,
		map->map.name);
}

/* Marks the index lines of a file that is mapped up to @end. @has_identity: the record has @ino
 * instead of a build id. Captures keep the vDSO of 64-bit processes without such a mapping. */
static void note_mapped_file(struct kept *state, const char *name, uint64_t end, uint64_t ino,
			     bool has_identity)
{
	const char *const own_path = jp_elf_index_name(name, end);
	const struct jp_elf_line *line;

	for (size_t i = 0; (line = jp_elf_store_line(state->store, i)); i++)
		if ((!has_identity || line->ino == ino) &&
		    (jp_mapping_same_name(line->path, name) || strcmp(line->path, own_path) == 0))
			state->support[i].mapped = true;
}

/* Marks the files in the snapshots. A control may have left out their mapping records. */
static void note_snapshots(struct kept *state)
{
	const struct jp_snapshots *snapshots = &state->view->evidence->snapshots;

	for (size_t i = 0; i < snapshots->count; i++)
		for (size_t j = 0; j < snapshots->list[i].count; j++)
			note_mapped_file(state, snapshots->list[i].maps[j].name,
					 snapshots->list[i].maps[j].end,
					 snapshots->list[i].maps[j].ino, true);
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	if (event->type == JP_EVENT_MAP && event->map.prot & JP_PROT_EXEC)
		note_mapped_file(view->state, event->map.name, event->map.addr + event->map.len,
				 event->map.ino, event->map.has_identity);
	return event->type == JP_EVENT_MAP && event->map.has_identity && event->map.ino &&
			       (event->map.gen || is_record_of_own_capture(view->state, event)) &&
			       !event->kernel_map
		       ? judge_generation(view->state, event)
		       : 0;
}

/* Judges the inode generation of a kept file: a mapping record must contain the same one. If one
 * does, others may have had the inode before, or get it after the file is gone. */
static int judge_kept_generation(struct kept *state, const struct jp_elf_line *line,
				 const struct line_support *support)
{
	const struct inode_generation *other_generation = &support->other_generation;
	int failed = 0;

	if (support->generation)
		return 0;
	state->nr_wrong += support->nr_others;
	for (uint64_t i = 0; i < support->nr_others && !failed; i++)
		failed = jp_findings_count_failure(
			&state->view->findings, "mappings.generation", "other-generation",
			"pid %u at %" PRIu64 ": inode %" PRIu64 " is recorded with generation "
			"%" PRIu64 ", and was kept with %" PRIu64 ": %.100s",
			other_generation->pid, other_generation->time, line->ino,
			other_generation->gen, line->gen, line->path);
	if (failed || !line->gen || line->snapshot)
		return failed;
	state->nr_wrong++;
	return jp_findings_count_failure(&state->view->findings, "mappings.generation", "not-told",
					 "no record has generation %" PRIu64 " of inode %" PRIu64
					 ": %.100s",
					 line->gen, line->ino, line->path);
}

static int judge_kept_file(struct kept *state, const struct jp_elf_line *line, bool mapped)
{
	struct jp_error reason;
	int ret;

	state->files++;
	ret = mapped ? jp_elf_store_check(state->store, line, &reason)
		     : jp_fail(&reason, ENOENT, "no mapping has its inode");
	if (!ret)
		return 0;
	state->nr_bad_files++;
	return jp_findings_count_failure(&state->view->findings, "elf.files",
					 ret == -ENOENT    ? "not-mapped"
					 : ret == -EBADMSG ? "altered"
							   : "unreadable",
					 "%.80s: %s", line->path, reason.text);
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct kept *state = view->state;
	const struct jp_elf_line *line;
	int failed = 0;

	note_snapshots(state);
	for (size_t i = 0; !failed && (line = jp_elf_store_line(state->store, i)); i++)
		failed = judge_kept_generation(state, line, &state->support[i])
				 ?: judge_kept_file(state, line, state->support[i].mapped);
	/* Every run keeps at least the vDSO, with any profiler. */
	if (!state->files && view->evidence->watched.started)
		failed = jp_findings_count_failure(&view->findings, "elf.files", "none",
						   "elf/index names no file");
	jp_findings_add_rate(&view->findings, "elf.files", state->nr_bad_files, state->files);
	jp_findings_add_rate(&view->findings, "mappings.generation", state->nr_wrong,
			     state->records);
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	struct kept *state = view->state;
	char path[4096];
	size_t lines = 0;

	if (jp_path_build(path, sizeof(path), err, "%s/elf", view->evidence->dir))
		return -ENAMETOOLONG;
	state->store = jp_elf_store_new(path, NULL);
	while (state->store && jp_elf_store_line(state->store, lines))
		lines++;
	state->support = state->store ? calloc(lines + 1, sizeof(*state->support)) : NULL;
	return state->support ? jp_executables_load(&state->truth, view->evidence->truth, err)
			      : -ENOMEM;
}

static void free_kept(void *state)
{
	struct kept *kept = state;

	jp_elf_store_free(kept->store);
	jp_executables_free(&kept->truth);
	jp_map_free(&kept->inodes);
	free(kept->support);
}

JP_DEFINE(validator, kept_files) = {
	.name = "kept_files",
	.state_size = sizeof(struct kept),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_kept,
};
