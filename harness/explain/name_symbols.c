// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>

#include "harness/explain/code.h"
#include "harness/explain/name_causes.h"
#include "harness/explain/recorder.h"
#include "harness/format/elf/elf_file.h"
#include "harness/model/space/mapping_name.h"

/* Losses of names that the symbols of a file could provide. */

static const char *format_build_id(const struct jp_name_case *name_case, char text[41])
{
	const struct jp_name_loss *loss = name_case->loss;
	const struct jp_build_id *headed =
		jp_file_finder_build_id(name_case->view->finder, loss->name);

	if (loss->id.size)
		return jp_build_id_text(&loss->id, text);
	return headed ? jp_build_id_text(headed, text) : NULL;
}

/* Returns whether the loss is in a program or library that was loaded from a memfd, without a
 * file. */
static bool is_memory(const struct jp_name_loss *loss)
{
	return jp_mapping_backing(loss->name) == JP_BACKING_MEMFD;
}

/* Adds to @blame what kind of file is at the recorded path now. */
static void describe_present_file(const struct jp_name_case *name_case, struct jp_blame *blame,
				  const char *id)
{
	const struct jp_name_loss *loss = name_case->loss;
	const char *recording = name_case->view->path;

	if (is_memory(loss)) {
		jp_blame_evidence(
			blame,
			"no file was mapped: the code was loaded from memory (memfd_create): `perf "
			"script -i %s --show-mmap-events | grep memfd`",
			recording);
		return;
	}
	switch (loss->fault) {
	case JP_NAME_CHANGED:
		if (id)
			jp_blame_evidence(
				blame,
				"the file at this path has another inode than the mapping record, "
				"and existed when the recording ended: the process ran an earlier "
				"file, or the file of its mount namespace: `ls -i '%s'; perf "
				"script -i %s --show-mmap-events`",
				loss->name, recording);
		else
			jp_blame_evidence(blame,
					  "the file at this path was created or written after the "
					  "recording: `ls -li --full-time '%s' %s`",
					  loss->name, recording);
		return;
	case JP_NAME_OTHER_FILE:
		jp_blame_evidence(blame,
				  "the file at this path has another build id: `readelf -n '%s'`",
				  loss->name);
		return;
	case JP_NAME_BAD_FILE:
		jp_blame_evidence(blame,
				  "the file at this path is not a complete ELF file: `readelf -hS "
				  "'%s'`",
				  loss->name);
		return;
	default:
		jp_blame_evidence(blame, "the file does not exist: `ls -l '%s'`", loss->name);
	}
}

static void describe_build_id(const struct jp_name_case *name_case, struct jp_blame *blame,
			      const char *id)
{
	const char *recording = name_case->view->path;

	if (id && name_case->loss->fault == JP_NAME_CHANGED)
		jp_blame_evidence(
			blame,
			"the header has that file's build id, %s: perf read it after the "
			"recording; --buildid-mmap records the build id of the mapped file",
			id);
	else if (id)
		jp_blame_evidence(blame,
				  "the build id of the file is %s, and ~/.debug/.build-id and "
				  "/usr/lib/debug/.build-id contain no file with it: `perf "
				  "buildid-list -i %s`",
				  id, recording);
	else
		jp_blame_evidence(
			blame,
			"the recording has no build id of the file: `perf buildid-list -i %s`",
			recording);
}

static bool blame_missing(const struct jp_name_case *name_case)
{
	const struct jp_name_loss *loss = name_case->loss;
	struct jp_blame *blame = jp_blame_names(name_case, "missing-file", loss->name);
	char text[41];
	const char *id = format_build_id(name_case, text);

	jp_blame_evidence(blame,
			  "%" PRIu64 " samples have frames in this file: `perf report -i %s --sort "
			  "dso`",
			  loss->samples, name_case->view->path);
	describe_present_file(name_case, blame, id);
	describe_build_id(name_case, blame, id);
	if (id && loss->fault != JP_NAME_CHANGED)
		jp_blame_remedy(blame,
				"put the file with that build id back, or into a folder DIR for "
				"--elf DIR; for perf: `perf buildid-cache --add FILE`; next time, "
				"run `perf archive` after recording");
	else if (is_memory(loss))
		jp_blame_remedy(blame, "%s", jp_code_memory_remedy);
	else
		jp_blame_remedy(blame,
				"put the file back, or name the root of its container (explain "
				"--root DIR, perf report --symfs DIR); and record with "
				"--buildid-mmap, which keeps build ids of files that are deleted "
				"meanwhile");
	return true;
}

static struct jp_elf_tables read_tables(const struct jp_name_case *name_case)
{
	const struct jp_name_loss *loss = name_case->loss;
	const struct jp_wanted_file wanted = {.path = loss->name, .id = loss->id, .pid = loss->pid};
	struct jp_elf_tables tables = {0};

	jp_code_read_tables(name_case->view->finder, &wanted, &tables);
	return tables;
}

/* Blames a file with code that is no ELF file. */
static bool blame_other_format(const struct jp_name_case *name_case)
{
	const struct jp_name_loss *loss = name_case->loss;
	const struct jp_elf_tables tables = read_tables(name_case);
	struct jp_blame *blame;

	if (!tables.windows && !tables.archive)
		return false;
	blame = jp_blame_names(name_case, "stripped-symbols", loss->name);
	jp_blame_evidence(blame,
			  "%" PRIu64 " samples have frames in such files: "
			  "`perf report -i %s --sort dso`",
			  loss->samples, name_case->view->path);
	jp_blame_evidence(blame,
			  "the file is %s, and perf reads symbols only of ELF files: `file '%s'`",
			  tables.windows ? "a Windows image" : "an archive", loss->name);
	jp_blame_evidence(blame,
			  "perf does not read the perf map for mapped files: "
			  "`ls -l /tmp/perf-%" PRIu32 ".map`",
			  loss->pid);
	jp_blame_remedy(blame, "%s",
			tables.windows
				? ".NET: DOTNET_ReadyToRun=0 compiles such code at run time, "
				  "and DOTNET_PerfMapEnabled=3 names it (before .NET 6, COMPlus_ "
				  "for DOTNET_); Wine: a profiler for Windows"
				: "use simpleperf, which reads the libraries in an APK; or "
				  "extract them (android:extractNativeLibs=true)");
	return true;
}

static bool blame_stripped(const struct jp_name_case *name_case)
{
	const struct jp_name_loss *loss = name_case->loss;
	/* explain does not read the compressed symbol table of Fedora. */
	const bool packed = read_tables(name_case).packed;
	/* Blame no samples (a note) if perf can read the names, or if every distribution strips
	 * the file: then healthy profiles lack these names, too. */
	struct jp_blame *blame =
		jp_code_is_c_library(loss->name) ||
				(packed && jp_recorder_since(name_case->view->summary,
							     JP_PERF_VERSION(6, 15)))
			? jp_blame(name_case->view->blames, "stripped-symbols", loss->pid,
				   jp_name_case_comm(name_case), loss->name, 0)
			: jp_blame_names(name_case, "stripped-symbols", loss->name);
	char text[41];
	const char *id = format_build_id(name_case, text);

	jp_blame_evidence(blame,
			  "%" PRIu64 " samples lie at addresses of this file without a symbol: "
			  "`perf report -i %s --no-children --sort dso,sym`",
			  loss->samples, name_case->view->path);
	jp_blame_evidence(blame, "the file has no .symtab: `readelf -S '%s' | grep symtab`",
			  loss->name);
	if (packed)
		jp_blame_evidence(
			blame, "the function names of the file are in .gnu_debugdata, which perf "
			       "reads since 6.15, and explain does not");
	jp_blame_evidence(
		blame, "there is no debug file for it: `ls /usr/lib/debug/.build-id/%.2s/%s.debug`",
		id ?: "XX", id ? id + 2 : "...");
	if (packed)
		jp_blame_remedy(blame, "report with perf 6.15 or later; or install its debug "
				       "symbols (Fedora: dnf debuginfo-install)");
	else
		jp_blame_remedy(blame,
				"install its debug symbols (Debian: the package's -dbgsym of "
				"debian-debug, or find-dbgsym-packages '%s'), or build it without "
				"strip",
				loss->name);
	return true;
}

static bool blame_not_there(const struct jp_name_case *name_case)
{
	const struct jp_name_loss *loss = name_case->loss;
	struct jp_blame *blame = jp_blame_names(name_case, "missing-file", loss->name);

	jp_blame_evidence(blame, "%" PRIu64 " samples have frames in files that inject made",
			  loss->samples);
	jp_blame_evidence(blame, "one of these files does not exist: `ls -l '%s'`", loss->name);
	jp_blame_evidence(blame,
			  "these files belong to the %" PRIu64
			  " injected mapping records of pid %" PRIu32,
			  name_case->process->injected, loss->pid);
	jp_blame_remedy(blame,
			"inject again into a folder that stays: perf inject --jit -i perf.data "
			"-o injected.data");
	return true;
}

bool jp_blame_symbols(const struct jp_name_case *name_case)
{
	switch (name_case->loss->fault) {
	case JP_NAME_NO_FILE:
	case JP_NAME_OTHER_FILE:
	case JP_NAME_BAD_FILE:
	case JP_NAME_CHANGED:
		return blame_missing(name_case);
	case JP_NAME_STRIPPED:
		return blame_stripped(name_case);
	case JP_NAME_NOT_THERE:
		return blame_not_there(name_case);
	case JP_NAME_NO_ELF:
		return blame_other_format(name_case);
	default:
		return false;
	}
}
