// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/explain/explain.h"
#include "harness/explain/name_causes.h"
#include "harness/explain/remapped.h"

/* Losses of names for which neither a jitdump nor a perf map of the process is visible. */

struct search {
	const struct jp_name_case *name_case;
	uint32_t named; /* pid in the name of the perf map that fits; 0: none */
	size_t covers;
	char path[64];
};

static bool has_code(const struct jp_name_case *name_case, uint32_t pid)
{
	const struct jp_mapping *mapping =
		jp_replay_find(name_case->view->spaces, pid, name_case->loss->addrs[0]);

	return mapping && mapping->prot & JP_PROT_EXEC;
}

/* Returns another process of the recording that has code at the same addresses (@named if it has),
 * or 0. Memory lies at random addresses, so a common ancestor must have forked both processes. */
static uint32_t find_sibling(const struct jp_name_case *name_case, uint32_t named)
{
	const struct jp_name_process *process;

	if (has_code(name_case, named))
		return named;

	for (size_t at = 0; (process = jp_name_losses_next_process(name_case->losses, &at));)
		if (process->pid != name_case->loss->pid && has_code(name_case, process->pid))
			return process->pid;
	return 0;
}

/* Returns whether a line of @map starts in the memory of @loss. A line from another process's
 * memory covers any address if its size is wrong. */
static bool has_lines_in(const struct jp_perf_map *map, const struct jp_name_loss *loss)
{
	for (size_t i = 0; i < loss->nr_ranges; i++)
		if (jp_perf_map_count_lines(map, loss->ranges[i].start, loss->ranges[i].end))
			return true;
	return false;
}

/* Tries the perf map @found with pid @named in its name. If its lines cover most of the addresses,
 * the process itself wrote it, under another pid, because memory lies at random addresses. */
static int try_map(void *context, uint32_t named, const struct jp_found_file *found)
{
	struct search *search = context;
	const struct jp_name_loss *loss = search->name_case->loss;
	struct jp_perf_map *map;

	if (named == loss->pid)
		return 0;
	map = jp_perf_map_read(found->fd, found->path, found->size, NULL);
	if (!map)
		return 0;
	search->covers = has_lines_in(map, loss) ? jp_name_covers(loss, map) : 0;
	jp_perf_map_free(map);
	if (search->covers * 2 <= loss->nr_addrs)
		return 0;
	search->named = named;
	snprintf(search->path, sizeof(search->path), "/tmp/perf-%" PRIu32 ".map", named);
	return 1;
}

static bool blame_namespace(const struct jp_name_case *name_case, const struct search *search)
{
	const struct jp_name_loss *loss = name_case->loss;
	struct jp_blame *blame = jp_blame_names(name_case, "pid-namespace-map", search->path);

	jp_blame_evidence(blame,
			  "the recording knows the process as pid %" PRIu32 ", and there is no "
			  "/tmp/perf-%" PRIu32 ".map",
			  loss->pid, loss->pid);
	jp_blame_evidence(blame, "%s names %zu of %zu sampled addresses without a name: `head %s`",
			  search->path, search->covers, loss->nr_addrs, search->path);
	jp_blame_evidence(blame,
			  "so its own pid is %" PRIu32
			  ", as in a pid namespace: `grep NSpid /proc/%" PRIu32
			  "/status` while it runs",
			  search->named, loss->pid);
	jp_blame_remedy(blame,
			"give perf the map under the outer pid: cp %s /tmp/perf-%" PRIu32
			".map; or record from within the container",
			search->path, loss->pid);
	return true;
}

/* Blames a possible perf map that only the process can see, or whose name has the pid that the
 * process has in its own pid namespace. */
static bool blame_unseen(const struct jp_name_case *name_case)
{
	const struct jp_name_loss *loss = name_case->loss;
	const struct jp_name_process *process = name_case->process;
	struct jp_blame *blame = jp_blame_names(name_case, "pid-namespace-map", NULL);

	jp_blame_evidence(blame,
			  "%" PRIu64 " samples have frames in %s, and there is no "
			  "/tmp/perf-%" PRIu32 ".map",
			  loss->samples, loss->name, loss->pid);
	jp_blame_evidence(blame,
			  "the process is in pid namespace %#" PRIx64 ", mount namespace %#" PRIx64
			  ", and not in the first ones told: `perf script -i %s "
			  "--show-namespace-events`",
			  process->pid_namespace, process->mount_namespace, name_case->view->path);
	jp_blame_evidence(blame,
			  "the recording does not show whether it wrote a map there "
			  "(no-name-source if not): while it runs, see `ls /proc/%" PRIu32
			  "/root/tmp/perf-*.map`",
			  loss->pid);
	jp_blame_remedy(blame,
			"while it runs: cp /proc/%" PRIu32 "/root/tmp/perf-*.map /tmp/perf-%" PRIu32
			".map; or record from within the container; a runtime without a map: %s",
			loss->pid, loss->pid, jp_name_option(name_case, (char[JP_OPTION_TEXT]){0}));
	return true;
}

/* Blames memory that replaced a file's text: perf finds no name for it in the file. */
static bool blame_remapped(const struct jp_name_case *name_case)
{
	const struct jp_name_loss *loss = name_case->loss;
	struct jp_blame *blame = jp_blame_names(name_case, "no-name-source", loss->file);

	jp_blame_evidence(blame,
			  "%" PRIu64 " samples have frames in %s that took the place of the text "
			  "of %s, which lies on both sides: `perf script -i %s --show-mmap-events`",
			  loss->samples, loss->name, loss->file, name_case->view->path);
	jp_blame_evidence(
		blame, "programs that copy their text to large pages look like this; perf asks a "
		       "file for names where a record maps it, and nowhere else");
	jp_blame_evidence(blame,
			  "for example 0x%" PRIx64 " is in no line of /tmp/perf-%" PRIu32
			  ".map, which perf asks for such memory",
			  loss->addrs[0], loss->pid);
	jp_blame_remedy(blame, "%s", jp_remapped_remedy);
	return true;
}

bool jp_blame_no_source(const struct jp_name_case *name_case)
{
	const struct jp_name_loss *loss = name_case->loss;
	struct search search = {.name_case = name_case};
	struct jp_blame *blame;
	uint32_t sibling;

	if (loss->fault == JP_NAME_REMAPPED)
		return blame_remapped(name_case);
	if (loss->nr_addrs && loss->samples >= name_case->view->samples * JP_EXPLAIN_ACCUSES &&
	    jp_file_find_maps(name_case->view->finder, loss->pid, try_map, &search)) {
		sibling = find_sibling(name_case, search.named);
		return sibling ? jp_blame_inherited(name_case, search.named, search.covers, sibling)
			       : blame_namespace(name_case, &search);
	}
	if (loss->fault == JP_NAME_NO_MAP &&
	    jp_name_process_is_in_other_namespace(name_case->losses, name_case->process))
		return blame_unseen(name_case);
	blame = jp_blame_names(name_case, "no-name-source", NULL);
	jp_blame_evidence(blame,
			  "%" PRIu64 " samples have frames in %s, which no file's symbols name",
			  loss->samples, loss->name);
	jp_blame_evidence(
		blame,
		"there is no perf map (or none visible here, if the process ran in a container "
		"that has exited: perf record --namespaces records that): "
		"`ls -l /tmp/perf-%" PRIu32 ".map`",
		loss->pid);
	jp_blame_evidence(blame,
			  "no record maps a jit-PID.dump: `perf script -i %s --show-mmap-events | "
			  "grep 'jit-.*dump'`",
			  name_case->view->path);
	jp_blame_remedy(blame, "%s", jp_name_option(name_case, (char[JP_OPTION_TEXT]){0}));
	return true;
}
