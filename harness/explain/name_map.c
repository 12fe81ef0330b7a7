// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "harness/base/order.h"
#include "harness/explain/name_causes.h"
#include "harness/model/space/mapping_name.h"

/* Losses of names that a perf map could provide. */

struct map_facts {
	char path[64];
	const struct jp_perf_map *map; /* NULL: see @missing */
	int missing;
	size_t lines;    /* number of lines for memory of the loss */
	size_t covers;   /* number of the loss's addresses that have a line */
	size_t others;   /* number of lines for other memory */
	uint32_t parent; /* ancestor whose map names the loss; 0: none */
};

/* Returns the pid of the nearest ancestor whose perf map names @least of the addresses, or 0: a
 * child runs inherited code until it calls exec. */
static uint32_t find_parent_with_names(const struct jp_name_case *name_case, size_t least)
{
	enum { GENERATIONS = 64 };
	const struct jp_name_process *process = name_case->process;
	const struct jp_perf_map *map;

	for (int i = 0; i < GENERATIONS && process && process->parent && !process->execed; i++) {
		map = jp_names_map(name_case->view->names, process->parent, NULL);
		if (map && jp_name_covers(name_case->loss, map) >= least)
			return process->parent;
		process = jp_name_losses_process(name_case->losses, process->parent);
	}
	return 0;
}

static void read_map_facts(const struct jp_name_case *name_case, struct map_facts *facts)
{
	const struct jp_name_loss *loss = name_case->loss;

	snprintf(facts->path, sizeof(facts->path), "/tmp/perf-%" PRIu32 ".map", loss->pid);
	facts->map = jp_names_map(name_case->view->names, loss->pid, &facts->missing);
	if (!facts->map) {
		/* If the fork was not recorded, an exec that was not recorded may have replaced the
		 * inherited code. A process in a namespace of its own may have a map there. */
		facts->parent = find_parent_with_names(
			name_case, !name_case->process->forked ||
					   jp_name_process_is_in_other_namespace(
						   name_case->losses, name_case->process));
		return;
	}
	facts->parent = find_parent_with_names(name_case, loss->nr_addrs / 2 + 1);
	facts->others = jp_perf_map_count_lines(facts->map, 0, UINT64_MAX);
	facts->lines = jp_name_count_lines(loss, facts->map);
	facts->covers = jp_name_covers(loss, facts->map);
	facts->others -= facts->lines < facts->others ? facts->lines : facts->others;
}

static void describe_samples(const struct jp_name_case *name_case, struct jp_blame *blame)
{
	jp_blame_evidence(blame,
			  "%" PRIu64 " samples have frames without a name in %s, %" PRIu64 " have "
			  "frames that the perf map names",
			  name_case->loss->samples, name_case->loss->name,
			  name_case->process->named);
}

/* Returns whether the map is a link, symbolic or hard, that seems to lead to a regular file. perf
 * follows it, explain does not: it may lead anywhere. */
static bool is_link(const struct jp_name_case *name_case, const struct map_facts *facts)
{
	struct stat link, target;

	if (!jp_file_finder_is_native(name_case->view->finder) || lstat(facts->path, &link))
		return false;
	if (!S_ISLNK(link.st_mode))
		return S_ISREG(link.st_mode) && link.st_nlink > 1;
	/* It may lead to a folder that only root can search, and explain has given up root. */
	return stat(facts->path, &target) ? errno == EACCES : S_ISREG(target.st_mode);
}

static bool note_link(const struct jp_name_case *name_case, const struct map_facts *facts)
{
	struct jp_blame *blame =
		jp_blame(name_case->view->blames, "map-wrong-owner", name_case->loss->pid,
			 jp_name_case_comm(name_case), facts->path, 0);

	jp_blame_evidence(blame,
			  "the perf map is a link to a regular file, which perf follows and "
			  "explain does not: `ls -lL %s`",
			  facts->path);
	jp_blame_evidence(blame,
			  "%" PRIu64 " samples have frames in %s, which the linked file may name",
			  name_case->loss->samples, name_case->loss->name);
	jp_blame_evidence(blame,
			  "see whether perf names them: `perf script -i %s --pid %" PRIu32 "`",
			  name_case->view->path, name_case->loss->pid);
	jp_blame_remedy(blame,
			"for explain, replace the link by a copy: cp %s %s.copy && mv %s.copy %s",
			facts->path, facts->path, facts->path, facts->path);
	return true;
}

static bool blame_owner(const struct jp_name_case *name_case, const struct map_facts *facts)
{
	struct jp_blame *blame = jp_blame_names(name_case, "map-wrong-owner", facts->path);

	jp_blame_evidence(blame, "it %s: `ls -l %s`",
			  facts->missing == -EACCES || facts->missing == -EPERM
				  ? "belongs to another user, and is not readable"
				  : "is no regular file",
			  facts->path);
	jp_blame_evidence(blame, "%" PRIu64 " samples have frames without a name in %s",
			  name_case->loss->samples, name_case->loss->name);
	jp_blame_evidence(blame, "perf would open the perf map, and wait for ever if it is a FIFO");
	jp_blame_remedy(blame,
			"remove the perf map (rm -r %s), find its author, and let the runtime "
			"write the map again: %s",
			facts->path, jp_name_option(name_case, (char[JP_OPTION_TEXT]){0}));
	return true;
}

void jp_note_map_owner(struct jp_explain_view *view, const struct jp_name_process *process)
{
	struct jp_found_file found;
	struct stat recording, map;
	struct jp_blame *blame;
	bool others;

	/* A recording of root contains processes of all users, so their maps are no surprise. */
	if (!process->named || !jp_recording_stat(view, &recording) || !recording.st_uid ||
	    jp_file_find_map(view->finder, process->pid, &found))
		return;
	others = !fstat(found.fd, &map) && map.st_uid && map.st_uid != recording.st_uid;
	jp_found_file_close(&found);
	if (!others)
		return;
	blame = jp_blame(view->blames, "map-wrong-owner", process->pid,
			 jp_replay_comm(view->spaces, process->pid), found.path, 0);
	jp_blame_evidence(blame,
			  "the perf map belongs to user %u, the recording to user %u: `ls -ln %s`",
			  map.st_uid, recording.st_uid, found.path);
	jp_blame_evidence(blame, "it names frames of %" PRIu64 " samples", process->named);
	jp_blame_evidence(blame,
			  "perf 5.10 to 7.3 do not check its owner, so that user chose the names");
	jp_blame_remedy(
		blame,
		"check that the process has the same user as the map: `ps -o user= -p %" PRIu32 "`",
		process->pid);
}

/* Returns whether the mapping record of the loss states a perf map as the mapped file. */
static bool is_map_as_file(const struct jp_name_loss *loss)
{
	uint32_t pid;

	return jp_mapping_is_perf_map(loss->name, &pid);
}

static bool blame_unread_map(const struct jp_name_case *name_case, const struct map_facts *facts)
{
	struct jp_blame *blame = jp_blame_names(name_case, "map-not-read-for-memfd", facts->path);

	if (is_map_as_file(name_case->loss))
		describe_samples(name_case, blame);
	else
		jp_blame_evidence(blame,
				  "%" PRIu64 " samples have frames in %s, for which perf reads no "
				  "perf map",
				  name_case->loss->samples, name_case->loss->name);
	jp_blame_evidence(blame,
			  "the map has %zu lines for that memory, and names %zu of %zu sampled "
			  "addresses: `grep -c . %s`",
			  facts->lines, facts->covers, name_case->loss->nr_addrs, facts->path);
	if (is_map_as_file(name_case->loss)) {
		jp_blame_evidence(blame,
				  "`perf inject -B` recorded the map as the mapped file, in which "
				  "perf looks up file offsets: `perf script -i %s "
				  "--show-mmap-events`",
				  name_case->view->path);
		jp_blame_remedy(blame, "report the file that perf recorded, or inject without -B");
		return true;
	}
	jp_blame_evidence(blame, "perf 5.10 to 7.3 read a perf map only for executable mappings of "
				 "//anon, [heap], /dev/zero, /SYSV and /anon_hugepage");
	if (strcmp(name_case->loss->name, "//anon") == 0)
		jp_blame_remedy(blame, "the mapping's record states no protection: record with "
				       "perf on Linux 3.16 or later, or report with the tool that "
				       "recorded it");
	else
		jp_blame_remedy(blame, "let the runtime take anonymous memory (.NET: "
				       "DOTNET_EnableWriteXorExecute=0), or publish a jitdump and "
				       "inject it");
	return true;
}

/* Returns the time of the process's first sample. If only children run its code, it may have none:
 * then returns the time of the first sample in that code. */
static uint64_t find_first_sample(const struct jp_name_case *name_case)
{
	const struct jp_name_process *process = name_case->process;
	const uint64_t first = name_case->loss->first;

	return process->first   ? process->first
	       : process->named ? jp_min(process->named_first, first)
				: first;
}

/* Returns how many seconds before the recording the map was last written, by the times of both
 * files; 0: not before, or unknown. */
static double count_seconds_before(const struct jp_name_case *name_case)
{
	const struct jp_name_process *process = name_case->process;
	struct jp_found_file found;
	struct stat map, recording;
	double before = 0;

	if (jp_file_find_map(name_case->view->finder, name_case->loss->pid, &found))
		return 0;
	if (!fstat(found.fd, &map) && jp_recording_stat(name_case->view, &recording))
		before = difftime(recording.st_mtime, map.st_mtime) -
			 (process->last - process->first) / 1e9;
	jp_found_file_close(&found);
	return before > 1 ? before : 0;
}

static bool blame_stale(const struct jp_name_case *name_case, const struct map_facts *facts)
{
	const struct jp_name_loss *loss = name_case->loss;
	struct jp_blame *blame = jp_blame_names(name_case, "map-stale", facts->path);
	const double before = count_seconds_before(name_case);

	if (loss->fault == JP_NAME_AGAIN || loss->fault == JP_NAME_OVERLAPPED) {
		jp_blame_evidence(blame,
				  "%" PRIu64 " samples have frames at addresses that the map "
				  "gives to several functions",
				  loss->samples);
		jp_blame_evidence(blame,
				  "for example 0x%" PRIx64 ": see the lines of %s that contain "
				  "this address",
				  loss->addrs[0], facts->path);
		jp_blame_evidence(
			blame,
			"a perf map has no times, so it does not show which of the functions ran");
		jp_blame_remedy(blame, "use a jitdump, which has times: perf record -k mono ...; "
				       "perf inject --jit -i perf.data -o injected.data");
		return true;
	}
	jp_blame_evidence(blame,
			  "%zu of the map's lines lie in the memory that was sampled, %zu lie "
			  "elsewhere: `head %s`",
			  facts->lines, facts->others, facts->path);
	describe_samples(name_case, blame);
	if (before > 0)
		jp_blame_evidence(
			blame,
			"the map was written for the last time %.0f s before the recording "
			"began, by the times of the files: `ls -l --full-time %s %s`",
			before, facts->path, name_case->view->path);
	jp_blame_evidence(blame,
			  "samples without a name begin %.3f s after the first sample; compare "
			  "`ls -l --full-time %s` with the time of the recording",
			  (loss->first - find_first_sample(name_case)) / 1e9, facts->path);
	jp_blame_remedy(blame,
			"remove %s before the process starts, and let it be written at the end "
			"of the recording: %s",
			facts->path, jp_name_option(name_case, (char[JP_OPTION_TEXT]){0}));
	return true;
}

static bool blame_partial(const struct jp_name_case *name_case, const struct map_facts *facts)
{
	struct jp_blame *blame = jp_blame_names(name_case, "map-partial", facts->path);
	uint64_t bad;

	describe_samples(name_case, blame);
	jp_blame_evidence(blame, "for example 0x%" PRIx64 " is in no line of %s",
			  name_case->loss->addrs[0], facts->path);
	if (facts->parent)
		jp_blame_evidence(blame,
				  "the process inherited that code: /tmp/perf-%" PRIu32 ".map, of "
				  "the process that forked it, names the code, but a mapping "
				  "record of the child covers it",
				  facts->parent);
	bad = jp_perf_map_bad_lines(facts->map);
	if (bad)
		jp_blame_evidence(
			blame,
			"the map has %zu lines for that memory, %zu elsewhere, and %" PRIu64
			" invalid ones: `jitproof lint %s`",
			facts->lines, facts->others, bad, facts->path);
	else
		jp_blame_evidence(blame,
				  "the map has %zu lines for that memory, and %zu elsewhere: "
				  "`grep -c . %s`",
				  facts->lines, facts->others, facts->path);
	jp_blame_remedy(blame,
			"let the runtime write all code, and write the map when the recording "
			"ends: %s",
			jp_name_option(name_case, (char[JP_OPTION_TEXT]){0}));
	return true;
}

struct jp_blame *jp_blame_inherited(const struct jp_name_case *name_case, uint32_t named,
				    size_t covers)
{
	const struct jp_name_loss *loss = name_case->loss;
	struct jp_blame *blame;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", named);
	blame = jp_blame_names(name_case, "map-partial", path);
	jp_blame_evidence(blame,
			  "%" PRIu64 " samples have frames without a name in %s, and there is no "
			  "/tmp/perf-%" PRIu32 ".map",
			  loss->samples, loss->name, loss->pid);
	jp_blame_evidence(blame, "%s names %zu of %zu sampled addresses without a name: `head %s`",
			  path, covers, loss->nr_addrs, path);
	if (covers)
		jp_blame_remedy(blame,
				"before the report, for each child: cp %s /tmp/perf-%" PRIu32
				".map; code that a child adds needs lines of its own in that file",
				path, loss->pid);
	else
		jp_blame_remedy(blame,
				"let the runtime write the code of forked children into maps of "
				"their own, such as /tmp/perf-%" PRIu32 ".map; or compile that "
				"code before they fork",
				loss->pid);
	return blame;
}

struct line_search {
	const struct jp_name_case *name_case;
	size_t fitting; /* number of lines in other executable memory of the process */
};

static void try_line(void *context, uint64_t start, uint64_t size, const char *name)
{
	struct line_search *search = context;
	const struct jp_mapping *mapping = jp_replay_find(search->name_case->view->spaces,
							  search->name_case->loss->pid, start);

	search->fitting += mapping && mapping->prot & JP_PROT_EXEC;
}

/* Returns whether most lines of the map are in executable memory of the process. Then the process
 * wrote it, and another of its runtimes emitted the code without names. */
static bool fits_process(const struct jp_name_case *name_case, const struct map_facts *facts)
{
	struct line_search search = {.name_case = name_case};

	jp_perf_map_visit_lines(facts->map, try_line, &search);
	return search.fitting * 2 > facts->others;
}

/* Returns whether the recording shows that memory for which the map has no lines was mapped before
 * any named code ran. A map of another engine in the process names only that engine's memory. */
static bool is_other_memory(const struct jp_name_case *name_case, const struct map_facts *facts)
{
	const struct jp_name_loss *loss = name_case->loss;

	return !facts->lines && loss->since && loss->since <= name_case->process->named_first;
}

/* Returns whether the map seems older than the code: none of its lines fits, or names end at some
 * time. */
static bool is_old(const struct jp_name_case *name_case, const struct map_facts *facts)
{
	const struct jp_name_process *process = name_case->process;
	uint64_t begin, end;

	if (facts->parent)
		return false;
	if (!facts->lines && !process->named)
		return facts->others && !fits_process(name_case, facts);
	/* The loss is from before an exec, and the map from after it. */
	if (process->named && process->execed > name_case->loss->last &&
	    process->execed <= process->named_first)
		return true;
	if (is_other_memory(name_case, facts))
		return false;
	begin = find_first_sample(name_case);
	end = jp_max(process->last, name_case->loss->last);
	return process->named && name_case->loss->first - begin > (end - begin) / 4;
}

/* Blames the map of the process @parent, which names the loss. */
static bool blame_parent(const struct jp_name_case *name_case, uint32_t parent)
{
	const struct jp_perf_map *map = jp_names_map(name_case->view->names, parent, NULL);
	struct jp_blame *blame;

	if (!map)
		return false;
	blame = jp_blame_inherited(name_case, parent, jp_name_covers(name_case->loss, map));
	jp_blame_evidence(blame,
			  "pid %" PRIu32 " forked the process, which called no exec: "
			  "`perf script -i %s --show-task-events`",
			  parent, name_case->view->path);
	return true;
}

bool jp_blame_perf_map(const struct jp_name_case *name_case)
{
	struct map_facts facts = {.missing = 0};

	read_map_facts(name_case, &facts);
	switch (name_case->loss->fault) {
	case JP_NAME_BAD_MAP:
		return is_link(name_case, &facts) ? note_link(name_case, &facts)
						  : blame_owner(name_case, &facts);
	case JP_NAME_AGAIN:
	case JP_NAME_OVERLAPPED:
		return blame_stale(name_case, &facts);
	case JP_NAME_NO_MAP:
		return facts.parent && blame_parent(name_case, facts.parent);
	case JP_NAME_NOT_IN_MAP:
		if (is_map_as_file(name_case->loss) && facts.covers)
			return blame_unread_map(name_case, &facts);
		return is_old(name_case, &facts) ? blame_stale(name_case, &facts)
						 : blame_partial(name_case, &facts);
	case JP_NAME_NO_ELF:
	case JP_NAME_NOT_ANONYMOUS:
		if (!facts.map && facts.missing != -ENOENT)
			return blame_owner(name_case, &facts);
		return facts.map && (facts.covers || facts.lines)
			       ? blame_unread_map(name_case, &facts)
			       : false;
	default:
		return false;
	}
}
