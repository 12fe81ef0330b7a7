// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "harness/explain/explain.h"
#include "harness/explain/name_causes.h"
#include "harness/explain/recorder.h"
#include "harness/explain/remapped.h"

/* Losses of names for which neither a jitdump nor a perf map of the process is visible. */

struct search {
	const struct jp_name_case *name_case;
	uint32_t named; /* pid in the name of the perf map that fits; 0: none */
	size_t covers;
	size_t lines; /* number of its lines for memory of the loss */
	char path[64];
};

static bool has_code(const struct jp_name_case *name_case, uint32_t pid)
{
	const struct jp_mapping *mapping =
		jp_replay_find(name_case->view->spaces, pid, name_case->loss->addrs[0]);

	return mapping && mapping->prot & JP_PROT_EXEC;
}

/* Returns another process of the recording that has code at the same addresses (@named if it has),
 * or 0. Memory lies at random addresses, so a common ancestor must have forked both processes. That
 * does not hold beside a program that is not PIE, and an exec ends what a process inherited. */
static uint32_t find_sibling(const struct jp_name_case *name_case, uint32_t named)
{
	const struct jp_name_process *process;

	if (name_case->process->execed || name_case->loss->addrs[0] < JP_LOW_END)
		return 0;
	if (has_code(name_case, named))
		return named;
	/* The process emitted the code after its fork, so it did not inherit it. */
	if (name_case->process->forked && !has_code(name_case, name_case->process->parent))
		return 0;
	for (size_t at = 0; (process = jp_name_losses_next_process(name_case->losses, &at));)
		if (process->pid != name_case->loss->pid && has_code(name_case, process->pid))
			return process->pid;
	return 0;
}

/* Smallest pid that the kernel gives again where pids start anew (kernel/pid.c). */
enum { RESERVED_PIDS = 300 };

/* Returns whether the perf map was last written before the recorded program started. */
static bool is_older(const struct jp_name_case *name_case, const struct jp_found_file *found)
{
	const struct jp_name_process *process = name_case->process;
	struct stat map, recording;

	return process->execed && !fstat(found->fd, &map) &&
	       jp_recording_stat(name_case->view, &recording) &&
	       difftime(recording.st_mtime, map.st_mtime) >
		       (process->last - process->execed) / 1e9 + 1;
}

/* Returns whether another process may have written the map @found, with @named in its name, for
 * code that is at the same addresses by chance: beside a program that is not PIE, as in node 18. */
static bool is_common_memory(const struct jp_name_case *name_case, uint32_t named,
			     const struct jp_found_file *found)
{
	return name_case->loss->addrs[0] < JP_LOW_END &&
	       (named >= RESERVED_PIDS || is_older(name_case, found)) &&
	       !jp_name_process_is_in_other_namespace(name_case->losses, name_case->process);
}

/* Tries the perf map @found with pid @named in its name. Memory lies at random addresses. So the
 * process itself wrote the map under another pid, or a relative did, if its lines cover most of the
 * addresses. A relative wrote it if other lines are in the same memory. Keeps the best map. */
static int try_map(void *context, uint32_t named, const struct jp_found_file *found)
{
	struct search *search = context;
	const struct jp_name_loss *loss = search->name_case->loss;
	struct jp_perf_map *map;
	size_t covers, lines;

	if (named == loss->pid || is_common_memory(search->name_case, named, found))
		return 0;
	map = jp_perf_map_read(found->fd, found->path, found->size, NULL);
	if (!map)
		return 0;
	lines = jp_name_count_lines(loss, map);
	/* A line from another process's memory covers any address if its size is wrong. */
	covers = lines ? jp_name_covers(loss, map) : 0;
	/* An exec ends what a process inherited. */
	if (search->name_case->process->execed)
		lines = 0;
	jp_perf_map_free(map);
	if (covers * 2 > loss->nr_addrs
		    ? covers <= search->covers
		    : search->covers * 2 > loss->nr_addrs || lines <= search->lines)
		return 0;
	search->named = named;
	search->covers = covers;
	search->lines = lines;
	snprintf(search->path, sizeof(search->path), "/tmp/perf-%" PRIu32 ".map", named);
	return covers == loss->nr_addrs;
}

/* Returns whether the pid in the map's name may be the process's own one in a pid namespace, which
 * counts from 1. The pid of a parent is rarely as low. After an exec, nothing is inherited. */
static bool is_named_in_namespace(const struct jp_name_case *name_case, const struct search *search)
{
	return name_case->process->execed ||
	       jp_name_process_is_in_other_namespace(name_case->losses, name_case->process) ||
	       (search->named < RESERVED_PIDS && search->covers * 2 > name_case->loss->nr_addrs);
}

/* Returns whether the loss's process forked process @pid, or an ancestor of it, after its last
 * exec, and @pid has called no exec since. perf asks for the map of the process that mapped the
 * code, not for the child's. */
static bool is_descendant(const struct jp_name_case *name_case, uint32_t pid)
{
	enum { GENERATIONS = 64 };
	const struct jp_name_process *process = jp_name_losses_process(name_case->losses, pid);

	for (int i = 0; i < GENERATIONS && process && process->parent && !process->execed; i++) {
		if (process->parent == name_case->loss->pid)
			return process->forked > name_case->process->execed;
		process = jp_name_losses_process(name_case->losses, process->parent);
	}
	return false;
}

/* Blames the map of a relative, unless the process itself wrote it in a pid namespace. */
static bool blame_relative(const struct jp_name_case *name_case, const struct search *search)
{
	const struct jp_name_loss *loss = name_case->loss;
	const bool child = is_descendant(name_case, search->named);
	const uint32_t sibling = child ? 0 : find_sibling(name_case, search->named);
	struct jp_blame *blame;

	if (!child && !sibling && is_named_in_namespace(name_case, search))
		return false;
	blame = jp_blame_inherited(name_case, search->named, search->covers);
	if (child)
		jp_blame_evidence(blame,
				  "pid %" PRIu32 " forked pid %" PRIu32
				  ", which runs the inherited code; perf asks for the map of the "
				  "process that mapped it: `perf script -i %s --show-task-events`",
				  loss->pid, search->named, name_case->view->path);
	else if (sibling)
		jp_blame_evidence(blame,
				  "pid %" PRIu32 " has code at the same addresses, so one process "
				  "forked both: `perf script -i %s --show-mmap-events`",
				  sibling, name_case->view->path);
	else
		jp_blame_evidence(blame,
				  "%zu lines of that map are in the same memory, so pid %" PRIu32
				  " forked the process, or one process forked both: `ps -o ppid= "
				  "-p %" PRIu32 "` while it runs (in a pid namespace it may be the "
				  "process's own pid: pid-namespace-map)",
				  search->lines, search->named, loss->pid);
	return true;
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
			  "so the process's own pid is %" PRIu32 ", as in a pid namespace: `grep "
			  "NSpid /proc/%" PRIu32 "/status` while it runs",
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
			  ", and not in those of the first record: `perf script -i %s "
			  "--show-namespace-events`",
			  process->pid_namespace, process->mount_namespace, name_case->view->path);
	jp_blame_evidence(blame,
			  "the recording does not show whether the process wrote a map there (if "
			  "not, the cause is no-name-source): while it runs, see `ls /proc/%" PRIu32
			  "/root/tmp/perf-*.map`",
			  loss->pid);
	jp_blame_remedy(blame,
			"while the process runs: cp /proc/%" PRIu32 "/root/tmp/perf-*.map "
			"/tmp/perf-%" PRIu32 ".map; or record from within the container; if the "
			"runtime writes no map: %s",
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
			  "of %s: `perf script -i %s --show-mmap-events`",
			  loss->samples, loss->name, loss->file, name_case->view->path);
	jp_blame_evidence(blame,
			  "programs that copy their text to large pages look like this; perf takes "
			  "names from a file only where a record maps that file");
	jp_blame_evidence(blame,
			  "for example 0x%" PRIx64 " is in no line of /tmp/perf-%" PRIu32 ".map, "
			  "which perf reads for such memory",
			  loss->addrs[0], loss->pid);
	jp_blame_remedy(blame, "%s", jp_remapped_remedy);
	return true;
}

bool jp_blame_no_source(const struct jp_name_case *name_case)
{
	const struct jp_name_loss *loss = name_case->loss;
	struct search search = {.name_case = name_case};
	struct jp_blame *blame;

	if (loss->fault == JP_NAME_REMAPPED)
		return blame_remapped(name_case);
	if (loss->nr_addrs && loss->samples >= name_case->view->samples * JP_EXPLAIN_ACCUSES)
		jp_file_find_maps(name_case->view->finder, loss->pid, try_map, &search);
	if (search.named)
		return blame_relative(name_case, &search) || blame_namespace(name_case, &search);
	if (loss->fault == JP_NAME_NO_MAP &&
	    jp_name_process_is_in_other_namespace(name_case->losses, name_case->process))
		return blame_unseen(name_case);
	blame = jp_blame_names(name_case, "no-name-source", NULL);
	jp_blame_evidence(blame,
			  "%" PRIu64 " samples have frames in %s, which no file's symbols name",
			  loss->samples, loss->name);
	jp_blame_evidence(
		blame, "%s: `ls -l /tmp/perf-%" PRIu32 ".map`",
		jp_names_map(name_case->view->names, loss->pid, NULL)
			? "the perf map has no line for that memory, and perf would not read it"
			: "there is no perf map (or none visible here, if the process ran in a "
			  "container that has exited: perf record --namespaces records that)",
		loss->pid);
	if (jp_recorder_is_inject(name_case->view->summary))
		jp_blame_evidence(blame,
				  "perf inject wrote this file, since it has no FINISHED_ROUND "
				  "record: if the process has a jitdump, perf accepted none of its "
				  "loads (damaged-jitdump): `jitproof lint jit-%" PRIu32 ".dump`",
				  loss->pid);
	jp_blame_evidence(blame,
			  "no record maps a jit-PID.dump: `perf script -i %s --show-mmap-events | "
			  "grep 'jit-.*dump'`",
			  name_case->view->path);
	jp_blame_remedy(blame, "%s", jp_name_option(name_case, (char[JP_OPTION_TEXT]){0}));
	return true;
}
