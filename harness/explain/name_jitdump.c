// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/path.h"
#include "harness/explain/name_causes.h"
#include "harness/explain/recorder.h"
#include "harness/explain/repaired_ends.h"
#include "harness/format/jit/jitdump_read.h"
#include "harness/model/space/mapping_name.h"

/* Losses of names that a jitdump could provide. */

struct dump_facts {
	const char *path;
	int missing; /* 0, or -errno: why the jitdump cannot be read */
	struct jp_error why;
	bool counter;                /* its times come from a CPU counter and are not in ns */
	uint64_t loads, first, last; /* number of loads; times of the first and last load */
	size_t covers;               /* number of the loss's addresses that are in loads */
	uint64_t stacks, repairs;    /* samples whose stack ends because call frame information is
					missing; part of them that the jitdump would repair */
};

static void note_load(struct dump_facts *facts, const struct jp_name_loss *loss,
		      const struct jp_jitdump_record *record, bool covered[])
{
	if (!facts->loads++ || record->time < facts->first)
		facts->first = record->time;
	if (record->time > facts->last)
		facts->last = record->time;
	for (size_t i = 0; i < loss->nr_addrs; i++) {
		if (covered[i] || loss->addrs[i] - record->load.addr >= record->load.size)
			continue;
		covered[i] = true;
		facts->covers++;
	}
}

static void read_records(const struct jp_name_case *name_case, struct jp_jitdump *dump,
			 struct dump_facts *facts, struct jp_repaired_ends *ends)
{
	bool covered[JP_LOSS_ADDRS] = {false};
	struct jp_jitdump_record record;

	while (jp_jitdump_next(dump, &record, NULL) > 0) {
		jp_repaired_ends_note(ends, &record);
		if (record.type == JP_JITDUMP_LOAD)
			note_load(facts, name_case->loss, &record, covered);
	}
	for (size_t i = 0; i < ends->count; i++)
		facts->stacks += ends->list[i].samples;
	facts->repairs = jp_repaired_ends_count(ends);
}

static void read_dump(const struct jp_name_case *name_case, struct dump_facts *facts)
{
	const uint32_t pid = name_case->loss->pid;
	const struct jp_wanted_file wanted = {.path = facts->path, .pid = pid};
	struct jp_repaired_ends ends = {0};
	struct jp_found_file found;
	struct jp_jitdump *dump;

	facts->missing =
		jp_file_find(name_case->view->finder, &wanted, JP_FILE_ITSELF, &found, &facts->why);
	if (facts->missing)
		return;
	dump = jp_jitdump_adopt(found.fd, found.path, found.size, &facts->why);
	facts->missing = dump ? 0 : -EINVAL;
	if (!dump)
		return;
	facts->counter = jp_jitdump_header(dump)->flags & JP_JITDUMP_ARCH_TIMESTAMP;
	if (jp_repaired_ends_find(&ends, name_case->view->ends, pid))
		name_case->view->blames->failed = true;
	read_records(name_case, dump, facts, &ends);
	jp_repaired_ends_free(&ends);
	jp_jitdump_close(dump);
}

/* Records in @blame how many stacks an inject of the jitdump would repair. */
static void note_repairs(struct jp_blame *blame, const struct dump_facts *facts)
{
	if (!facts->repairs || blame->repaired)
		return;
	jp_blame_note_repair(blame, "no-cfi-for-jit", facts->repairs);
	jp_blame_evidence(blame,
			  "the jitdump's unwinding information continues %" PRIu64 " of %" PRIu64
			  " stacks that end in emitted code without call frame information",
			  facts->repairs, facts->stacks);
}

static void describe_marker(const struct jp_name_case *name_case, struct jp_blame *blame)
{
	const struct jp_name_process *process = name_case->process;

	jp_blame_evidence(blame,
			  "pid %" PRIu32 " mapped the jitdump executable, as profilers require: "
			  "`perf script -i %s --show-mmap-events | grep '%s'`",
			  process->marker_pid, name_case->view->path,
			  strrchr(process->marker, '/') + 1);
}

static void describe_loss(const struct jp_name_case *name_case, struct jp_blame *blame)
{
	const struct jp_name_loss *loss = name_case->loss;

	jp_blame_evidence(blame, "%" PRIu64 " samples have frames without a name in %s%s",
			  loss->samples, loss->name,
			  name_case->process->injected ? "" : "; no record maps an injected file");
}

static bool blame_gone(const struct jp_name_case *name_case, const struct dump_facts *facts)
{
	struct jp_blame *blame = jp_blame_names(name_case, "jitdump-file-gone", facts->path);

	describe_marker(name_case, blame);
	jp_blame_evidence(blame, "%.400s", facts->why.text);
	describe_loss(name_case, blame);
	jp_blame_remedy(blame,
			"record again, and keep the jitdump until it is injected%s: "
			"perf inject --jit -i %s -o injected.data",
			strstr(facts->path, " (deleted)")
				? "(it was deleted before it was mapped; node: leave out "
				  "--perf-prof-delete-file)"
				: "",
			name_case->view->path);
	return true;
}

static bool blame_clock(const struct jp_name_case *name_case, const struct dump_facts *facts)
{
	const struct jp_name_process *process = name_case->process;
	const bool monotonic = name_case->view->summary->monotonic;
	struct jp_blame *blame = jp_blame_names(name_case, "jitdump-wrong-clock", facts->path);

	note_repairs(blame, facts);
	if (monotonic)
		jp_blame_evidence(blame, "the recording's clock is CLOCK_MONOTONIC");
	else
		jp_blame_evidence(blame,
				  "the recording's clock is not CLOCK_MONOTONIC: "
				  "`perf evlist -v -i %s` shows no use_clockid: 1, clockid: 1",
				  name_case->view->path);
	if (process->marker)
		jp_blame_evidence(blame,
				  "the jitdump's %" PRIu64 " loads have times from %" PRIu64
				  " to %" PRIu64 ", samples from %" PRIu64 " to %" PRIu64,
				  facts->loads, facts->first, facts->last, process->first,
				  process->last);
	else
		jp_blame_evidence(blame, "the last sample without a name has time %" PRIu64,
				  name_case->loss->last);
	if (process->injected)
		jp_blame_evidence(blame, "the injected records begin at time %" PRIu64,
				  process->injected_first);
	else
		describe_marker(name_case, blame);
	jp_blame_remedy(blame,
			"%srecord again with -k mono: perf record -k mono -g ...; then perf inject "
			"--jit -i perf.data -o injected.data%s",
			monotonic ? "let the runtime write times of CLOCK_MONOTONIC in ns, and "
				  : "",
			monotonic || process->last
				? ""
				: "; or, since this recording has no times: jitproof inject -i "
				  "perf.data -o injected.data");
	return true;
}

static bool blame_not_injected(const struct jp_name_case *name_case, const struct dump_facts *facts)
{
	struct jp_blame *blame = jp_blame_names(name_case, "jitdump-not-injected", facts->path);

	note_repairs(blame, facts);
	describe_marker(name_case, blame);
	if (facts->missing)
		jp_blame_evidence(blame, "the jitdump cannot be read: %.400s", facts->why.text);
	else if (!name_case->loss->nr_addrs)
		jp_blame_evidence(blame, "the jitdump holds %" PRIu64 " loads", facts->loads);
	else
		jp_blame_evidence(blame,
				  "the jitdump holds %" PRIu64 " loads, which name %zu of %zu "
				  "addresses without a name",
				  facts->loads, facts->covers, name_case->loss->nr_addrs);
	describe_loss(name_case, blame);
	if (name_case->view->summary->compressed)
		jp_blame_remedy(blame,
				"jitproof inject -i %s -o injected.data && perf report -i "
				"injected.data (the recording is compressed, perf record -z: perf "
				"inject 6.1 to 7.3 adds nothing to it)",
				name_case->view->path);
	else if (jp_mapping_jitdump_number(name_case->process->marker) !=
		 name_case->process->marker_pid)
		jp_blame_remedy(
			blame,
			"jitproof inject -i %s -o injected.data && perf report -i injected.data "
			"(the jitdump's name has a container's pid: perf inject finds it only "
			"while the process runs (6.12), or only afterwards (7.2))",
			name_case->view->path);
	else
		jp_blame_remedy(blame,
				"perf inject --jit -i %s -o injected.data && perf report -i "
				"injected.data%s%s%s",
				name_case->view->path,
				facts->missing ? "" : " (or: jitproof inject -i ",
				facts->missing ? "" : name_case->view->path,
				facts->missing ? "" : " -o injected.data)");
	return true;
}

/* Counts the stacks that end at addresses for which an injected file has call frame information,
 * but a later mapping covers that file. */
static uint64_t count_hidden_stacks(const struct jp_name_case *name_case)
{
	const struct jp_ends *ends = name_case->view->ends;
	const uint32_t pid = name_case->loss->pid;
	uint64_t samples = 0;

	for (size_t i = 0; i < ends->count; i++) {
		const struct jp_end *end = &ends->list[i];
		const struct jp_mapping *injected =
			jp_repaired_end_lacks_cfi(end, pid)
				? jp_name_losses_injected(name_case->losses, pid, end->addr)
				: NULL;

		if (injected && jp_frame_use(ends->store, injected, end->addr) != JP_FRAME_UNKNOWN)
			samples += end->samples;
	}
	return samples;
}

static bool blame_hidden(const struct jp_name_case *name_case)
{
	const struct jp_name_loss *loss = name_case->loss;
	const uint64_t stacks = count_hidden_stacks(name_case);
	struct jp_blame *blame = jp_blame_names(name_case, "jitdump-hidden", NULL);

	if (stacks) {
		jp_blame_note_repair(blame, "no-cfi-for-jit", stacks);
		jp_blame_evidence(blame,
				  "%" PRIu64 " stacks end in injected code, although its file has "
				  "call frame information",
				  stacks);
	}
	jp_blame_evidence(blame,
			  "%" PRIu64 " samples lie at addresses that an injected record had named",
			  loss->samples);
	jp_blame_evidence(blame,
			  "a later record of %s covers that code: `perf script -i %s "
			  "--show-mmap-events | grep %" PRIu32 "`",
			  loss->name, name_case->view->path, loss->pid);
	jp_blame_evidence(
		blame, "the process has %" PRIu64 " injected records, the first at time %" PRIu64,
		name_case->process->injected, name_case->process->injected_first);
	jp_blame_remedy(blame,
			"jitproof inject --anon=cut -i perf.data -o injected.data, from the file "
			"that was recorded: it cuts such records around injected code");
	return true;
}

/* Returns whether @time is after @last, the time of the last sample. Without times (perf record
 * --per-thread) nothing is. */
static bool is_after(uint64_t time, uint64_t last)
{
	return last && time > last;
}

/* Returns whether all injected records of @process are later than @last, or earlier than the
 * program and its first sample. */
static bool is_of_other_time(const struct jp_name_process *process, uint64_t last)
{
	return is_after(process->injected_first, last) ||
	       (is_after(process->execed, process->injected_last) &&
		is_after(process->first, process->injected_last));
}

/* Returns whether all injected records are of the program after an exec, which truncated the
 * jitdump of the program with the loss. */
static bool is_truncated_by_exec(const struct jp_name_case *name_case)
{
	const struct jp_name_process *process = name_case->process;

	return process->injected && is_after(process->execed, name_case->loss->last) &&
	       process->injected_first >= process->execed;
}

static bool blame_truncated(const struct jp_name_case *name_case)
{
	struct jp_blame *blame = jp_blame_names(name_case, "damaged-jitdump", NULL);

	describe_loss(name_case, blame);
	jp_blame_evidence(blame,
			  "the last such sample has time %" PRIu64
			  ", the exec of the process %" PRIu64,
			  name_case->loss->last, name_case->process->execed);
	jp_blame_evidence(blame,
			  "all injected records belong to the program after the exec, which "
			  "truncated the jitdump: they begin at time %" PRIu64,
			  name_case->process->injected_first);
	jp_blame_remedy(blame,
			"let the program before the exec write its jitdump into another folder, "
			"or exec in a new process");
	return true;
}

static bool exists(const struct jp_name_case *name_case, const char *path)
{
	const struct jp_wanted_file wanted = {.path = path, .pid = name_case->loss->pid};
	struct jp_found_file found;

	if (jp_file_find(name_case->view->finder, &wanted, JP_FILE_ITSELF, &found, NULL))
		return false;
	jp_found_file_close(&found);
	return true;
}

/* Returns whether perf inject removed the record of the process's jitdump, but accepted none of its
 * loads. Stores the jitdump's path in @path: beside the recording, in /tmp, or where perf's agent
 * for Java, which publishes in no other way, writes it. */
static bool find_refused(const struct jp_name_case *name_case, char path[PATH_MAX])
{
	const struct jp_explain_view *view = name_case->view;
	const uint32_t pid = name_case->loss->pid;
	const char *folder = view->path + (*view->path == '/');
	const struct jp_mapping *mapping = NULL;
	char cwd[PATH_MAX] = "";

	if (!jp_recorder_is_inject(view->summary))
		return false;
	if ((folder > view->path || getcwd(cwd, sizeof(cwd))) &&
	    !jp_path_build(path, PATH_MAX, NULL, "%s/%.*sjit-%" PRIu32 ".dump", cwd,
			   (int)(jp_path_base(view->path) - folder), folder, pid) &&
	    exists(name_case, path))
		return true;
	snprintf(path, PATH_MAX, "/tmp/jit-%" PRIu32 ".dump", pid);
	if (exists(name_case, path))
		return true;
	snprintf(path, PATH_MAX, "~/.debug/jit/*/jit-%" PRIu32 ".dump", pid);
	do
		mapping = jp_replay_find_at_or_above(view->spaces, pid, mapping ? mapping->end : 0);
	while (mapping && strcmp(jp_path_base(mapping->name), "libperf-jvmti.so") != 0);
	return mapping;
}

/* Blames a jitdump that was injected, but has no record of the code. @path: the jitdump, if no
 * record is of it. */
static bool blame_lacking(const struct jp_name_case *name_case, const char *path)
{
	struct jp_blame *blame = jp_blame_names(name_case, "damaged-jitdump", NULL);

	describe_loss(name_case, blame);
	if (name_case->process->injected)
		jp_blame_evidence(blame,
				  "the process has %" PRIu64 " records of injected files, and none "
				  "covers this code: `perf script -i %s --show-mmap-events | grep "
				  "jit`",
				  name_case->process->injected, name_case->view->path);
	else
		jp_blame_evidence(blame,
				  "perf inject wrote this file, and accepted no load of the "
				  "process's jitdump: `jitproof lint %s`",
				  path);
	jp_blame_evidence(blame, "there is no perf map either: `ls -l /tmp/perf-%" PRIu32 ".map`",
			  name_case->loss->pid);
	jp_blame_remedy(blame, "let the runtime write all code into the jitdump, with the "
			       "addresses at which it runs");
	return true;
}

/* Returns whether perf cannot compare the jitdump's times with the recording's: the recording has
 * another clock, or all loads lie outside of it. */
static bool is_other_clock(const struct jp_name_case *name_case, const struct dump_facts *facts)
{
	const struct jp_name_process *process = name_case->process;
	const uint64_t span = process->last - process->first + UINT64_C(3600000000000);

	/* perf converts times of a CPU counter to its default clock, but not to CLOCK_MONOTONIC. */
	if (!facts->counter && !name_case->view->summary->monotonic)
		return true;
	return facts->loads && !facts->counter &&
	       (is_after(facts->first, process->last) || facts->last + span < process->first);
}

bool jp_blame_jitdump(const struct jp_name_case *name_case)
{
	const struct jp_name_process *process = name_case->process;
	struct dump_facts facts = {.path = process->marker};
	char path[PATH_MAX];

	if (name_case->loss->fault == JP_NAME_HIDDEN)
		return blame_hidden(name_case);
	if (name_case->loss->fault == JP_NAME_REMAPPED || name_case->loss->fault == JP_NAME_AGAIN)
		return false;
	if (!process->marker && is_truncated_by_exec(name_case))
		return blame_truncated(name_case);
	/* perf inject removes the marker's record. */
	if (!process->marker && (process->injected || find_refused(name_case, path)))
		return process->injected && is_of_other_time(process, name_case->loss->last)
			       ? blame_clock(name_case, &facts)
			       : name_case->loss->fault == JP_NAME_NO_MAP &&
					 blame_lacking(name_case, path);
	if (!process->marker)
		return false;
	if (jp_blame_damaged_jitdump(name_case))
		return true;
	read_dump(name_case, &facts);
	if (process->injected)
		return is_of_other_time(process, process->last) ? blame_clock(name_case, &facts)
		       : facts.covers ? blame_not_injected(name_case, &facts)
				      : false;
	/* A jitdump that we have no permission to read, or to which a link leads, exists. */
	if (facts.missing && facts.missing != -EACCES && facts.missing != -EPERM &&
	    facts.missing != -EINVAL && facts.missing != -ELOOP)
		return blame_gone(name_case, &facts);
	if (!facts.missing && is_other_clock(name_case, &facts))
		return blame_clock(name_case, &facts);
	return blame_not_injected(name_case, &facts);
}

void jp_blame_unwinding(const struct jp_name_case *name_case)
{
	const struct jp_name_process *process = name_case->process;
	struct dump_facts facts = {.path = process->marker};

	if (!process->marker || process->injected)
		return;
	read_dump(name_case, &facts);
	if (facts.repairs && is_other_clock(name_case, &facts))
		blame_clock(name_case, &facts);
	else if (facts.repairs)
		blame_not_injected(name_case, &facts);
}
