// SPDX-License-Identifier: GPL-2.0-only
/* Kept files: each file that the capture kept for unwinding must have been mapped, be readable, and
 * have its bytes of that time. Each mapping record must name the generation of its inode that the
 * file had, and that other records name. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/map.h"
#include "harness/base/path.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/executable_load.h"
#include "harness/model/space/mapping_name.h"
#include "harness/model/unwind/elf_store.h"
#include "validators/gate_names.h"

/* The last record that states the generation of an inode. */
struct told_inode {
	uint64_t gen, time, addr;
	uint32_t pid;
};

/* The records that support a line of the index. */
struct told_line {
	bool mapped;     /* something with its path and inode was mapped */
	bool generation; /* a record has its generation */
};

struct kept {
	struct jp_view *view;
	struct jp_elf_store *store;
	struct jp_executables truth;
	struct jp_map inodes;   /* inode and device -> struct told_inode */
	struct told_line *told; /* by line of the index */
	uint64_t records, wrong, files, bad;
};

/* Returns whether the record is ours. It is unknown which records without a generation the kernel
 * wrote for other profilers. */
static bool is_ours(const struct kept *kept, const struct jp_event *map)
{
	return map->record && kept->view->evidence->info.first_enabled;
}

/* Returns whether the truth has no end of @pid between @from and @to: its executable files exist as
 * long. */
static bool is_alive(const struct kept *kept, uint32_t pid, uint64_t from, uint64_t to)
{
	const struct jp_truth *truth = kept->view->evidence->truth;

	for (size_t i = 0;
	     jp_groups_next(&truth->acts_of.lives, pid, &i) && truth->acts[i].before <= to; i++)
		if (truth->acts[i].type == JP_EVENT_END && truth->acts[i].after >= from)
			return false;
	return true;
}

/* Returns whether the mapping of @told surely existed at @time, and so its file. */
static bool lives(const struct kept *kept, const struct told_inode *told, uint64_t time)
{
	const uint64_t slack = kept->view->evidence->info.slack;
	const struct jp_executable *one;
	size_t at = SIZE_MAX;

	while ((one = jp_executables_next(&kept->truth, told->pid, told->addr, told->addr + 1,
					  &at)))
		if (one->open_before <= told->time + slack &&
		    (one->close_before == UINT64_MAX || time + slack < one->close_before))
			return is_alive(kept, told->pid, told->time - slack, time + slack);
	return false;
}

/* Returns whether the index has another generation of @map's inode, read from the mapped file, and
 * not @map's. Notes the index lines that @map supports. */
static bool is_kept_otherwise(struct kept *kept, const struct jp_event *map)
{
	const struct jp_elf_line *line;
	bool other = false, same = false;

	for (size_t i = 0; (line = jp_elf_store_line(kept->store, i)); i++) {
		if (!line->known || line->ino != map->map.ino || line->maj != map->map.maj ||
		    line->min != map->map.min)
			continue;
		if (line->gen == map->map.gen) {
			kept->told[i].generation = true;
			same = true;
		}
		other |= line->snapshot && strcmp(line->path, map->map.name) == 0;
	}
	return other && !same;
}

/* Returns whether we made the record from a line of /proc, which states no generation. */
static bool is_made(const struct kept *kept, const struct jp_event *map)
{
	const struct jp_evidence *evidence = kept->view->evidence;

	return is_ours(kept, map) &&
	       (!map->time || jp_gate_backfilled(evidence, map) ||
		(!map->map.gen &&
		 jp_snapshots_cover_time(&evidence->snapshots, map->pid, map->time)));
}

/* Judges the generation of an inode: it has one as long as it exists. */
static int judge_generation(struct kept *kept, const struct jp_event *map)
{
	const bool made = is_made(kept, map);
	uint64_t key = map->map.ino ^ (uint64_t)map->map.maj << 52 ^ (uint64_t)map->map.min << 44;
	struct told_inode *told = jp_map_at(&kept->inodes, key, sizeof(*told));
	bool wrong;

	if (!told)
		return -ENOMEM;
	kept->records++;
	wrong = made ? map->map.gen != 0
		     : is_kept_otherwise(kept, map) || (told->pid && told->gen != map->map.gen &&
							lives(kept, told, map->time));
	if (!made)
		*told = (struct told_inode){map->map.gen, map->time, map->map.addr, map->pid};
	if (!wrong)
		return 0;
	kept->wrong++;
	return jp_findings_except(&kept->view->findings, "mappings.generation", "other-generation",
				  "pid %u at %" PRIu64 ": inode %" PRIu64 " of %x:%x is told with "
				  "generation %" PRIu64 ": %.100s",
				  map->pid, map->time, map->map.ino, map->map.maj, map->map.min,
				  map->map.gen, map->map.name);
}

/* Notes the index lines of a mapped file. A build id may replace its inode. */
static void note_mapped(struct kept *kept, const char *name, uint64_t ino, bool has_identity)
{
	const struct jp_elf_line *line;

	for (size_t i = 0; (line = jp_elf_store_line(kept->store, i)); i++)
		if ((!has_identity || line->ino == ino) && jp_mapping_same_name(line->path, name))
			kept->told[i].mapped = true;
}

/* Notes files that the capture read in /proc: its records may leave these out. */
static void note_snapshots(struct kept *kept)
{
	const struct jp_snapshots *snapshots = &kept->view->evidence->snapshots;

	for (size_t i = 0; i < snapshots->count; i++)
		for (size_t j = 0; j < snapshots->list[i].count; j++)
			note_mapped(kept, snapshots->list[i].maps[j].name,
				    snapshots->list[i].maps[j].ino, true);
}

static int see(struct jp_view *view, const struct jp_event *event)
{
	if (event->type == JP_EVENT_MAP && event->map.prot & JP_PROT_EXEC)
		note_mapped(view->state, event->map.name, event->map.ino, event->map.has_identity);
	return event->type == JP_EVENT_MAP && event->map.has_identity && event->map.ino &&
			       (event->map.gen || is_ours(view->state, event)) && !event->kernel_map
		       ? judge_generation(view->state, event)
		       : 0;
}

/* Judges the generation of a kept file: it was kept because a record named it. */
static int judge_kept_generation(struct kept *kept, const struct jp_elf_line *line, bool told)
{
	if (!line->gen || line->snapshot || told)
		return 0;
	kept->wrong++;
	return jp_findings_except(&kept->view->findings, "mappings.generation", "not-told",
				  "no record tells generation %" PRIu64 " of inode %" PRIu64
				  ": %.100s",
				  line->gen, line->ino, line->path);
}

static int judge_kept_file(struct kept *kept, const struct jp_elf_line *line, bool mapped)
{
	struct jp_error why;
	int ret;

	kept->files++;
	ret = mapped ? jp_elf_store_check(kept->store, line, &why)
		     : jp_fail(&why, ENOENT, "nothing of that inode was mapped");
	if (!ret)
		return 0;
	kept->bad++;
	return jp_findings_except(&kept->view->findings, "elf.files",
				  ret == -ENOENT    ? "not-mapped"
				  : ret == -EBADMSG ? "altered"
						    : "unreadable",
				  "%.80s: %s", line->path, why.text);
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct kept *kept = view->state;
	const struct jp_elf_line *line;
	int failed = 0;

	note_snapshots(kept);
	for (size_t i = 0; !failed && (line = jp_elf_store_line(kept->store, i)); i++)
		failed = judge_kept_generation(kept, line, kept->told[i].generation)
				 ?: judge_kept_file(kept, line, kept->told[i].mapped);
	/* Every run keeps at least the vDSO, with any profiler. */
	if (!kept->files && view->evidence->watched.started)
		failed = jp_findings_except(&view->findings, "elf.files", "none",
					    "elf/index names no file");
	jp_findings_add_rate(&view->findings, "elf.files", kept->bad, kept->files);
	jp_findings_add_rate(&view->findings, "mappings.generation", kept->wrong, kept->records);
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	struct kept *kept = view->state = calloc(1, sizeof(*kept));
	char path[4096];
	size_t lines = 0;

	if (!kept)
		return -ENOMEM;
	kept->view = view;
	if (jp_path_build(path, sizeof(path), err, "%s/elf", view->evidence->dir))
		return -ENAMETOOLONG;
	kept->store = jp_elf_store_new(path, NULL);
	while (kept->store && jp_elf_store_line(kept->store, lines))
		lines++;
	kept->told = kept->store ? calloc(lines + 1, sizeof(*kept->told)) : NULL;
	return kept->told ? jp_executables_load(&kept->truth, view->evidence->truth, err) : -ENOMEM;
}

static void free_kept(void *state)
{
	struct kept *kept = state;

	jp_elf_store_free(kept->store);
	jp_executables_free(&kept->truth);
	jp_map_free(&kept->inodes);
	free(kept->told);
	free(kept);
}

static const struct jp_validator kept_files = {
	.name = "kept_files",
	.help = "is each file that the capture kept readable, and each mapping of its generation?",
	.begin = begin,
	.see = see,
	.end = end,
	.free = free_kept,
};
JP_REGISTER(validator, kept_files);
