// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/globs.h"
#include "harness/base/path.h"
#include "harness/base/printable.h"
#include "harness/base/shortage.h"
#include "harness/outcome/case_folder.h"
#include "harness/command/command.h"
#include "harness/command/case_values.h"
#include "harness/command/command_line.h"
#include "harness/command/reading.h"
#include "harness/command/cleanup_parent.h"
#include "harness/base/interrupt.h"
#include "harness/report/ktap.h"
#include "harness/capture/adapter.h"
#include "harness/repro/pack.h"
#include "harness/format/rundir/run_dir.h"
#include "harness/run/cases.h"
#include "harness/run/runner.h"

struct repro_request {
	const char *name, *output, *expected, *failed_case;
	uint64_t seed;
};

static bool parse(struct repro_request *request, int argc, char **argv, int *status)
{
	const struct jp_option options[] = {
		{"CASE", .text = &request->name, .is_required = true,
		 .print_values = jp_print_cases, .help = "the name of one case"},
		{"-o", .value = "FILE", .text = &request->output, .is_required = true,
		 .help = "the archive to write, a plain tar; it replaces an existing file"},
		{"--from", .value = "DIR", .text = &request->failed_case,
		 .help = "pack this run directory, or this folder of the case (default: run the "
			 "case first)"},
		{"--expected", .value = "DIR", .text = &request->expected,
		 .help = "take the case's definition from the files in DIR"},
		{"--seed", .value = "N", .number64 = &request->seed,
		 .help = "the seed of that run"},
		{0}};

	request->seed = jp_draw_seed();
	return jp_command_line(options, argc, argv, status);
}

/* Runs the case in the run directory @dir. Returns 0, or -errno and a message. */
static int run_case_first(const struct repro_request *options, const struct jp_case *cas,
			  const struct jp_run_dir *dir, struct jp_error *err)
{
	struct jp_runner runner = {0};
	struct jp_result result = {0};
	char path[4096];
	int ret = jp_runner_open(&runner, options->seed, NULL, err);

	if (!ret)
		ret = jp_run_dir_case(dir, cas->name, path, sizeof(path), err);
	if (!ret) {
		jp_runner_run(&runner, cas, path, &result);
		jp_findings_free(&result.findings);
	}
	jp_runner_close(&runner);
	if (!ret && jp_interrupt_signal())
		ret = jp_fail(err, EINTR, "interrupted");
	return ret;
}

/* Opens the folder of the case @name: @folder itself, or a folder in the run directory @folder,
 * without following links. Stores its path in @path. Returns a descriptor, or -errno and a message.
 */
static int open_folder(const char *folder, const char *name, char *path, size_t size,
		       struct jp_error *err)
{
	jp_cleanup_close int outer = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	jp_cleanup_close int inner = -1, fd = -1;
	char study[PATH_MAX];

	snprintf(path, size, "%s", folder);
	if (outer < 0)
		return jp_fail(err, errno, "%s: %s", folder, strerror(errno));
	if (jp_is_case_folder(folder))
		return jp_steal_fd(&outer);
	snprintf(study, sizeof(study), "%.*s", (int)strcspn(name, "/"), name);
	inner = openat(outer, study, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (inner >= 0)
		fd = openat(inner, name + strlen(study) + 1,
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || jp_path_build(path, size, NULL, "%s/%s", folder, name))
		return jp_fail(
			err, ENOENT,
			"%s: does not contain the case '%s'; expected a run directory, or the "
			"folder of the case, without links",
			folder, name);
	return jp_steal_fd(&fd);
}

static int judge_copy(struct jp_repro *repro, struct jp_error *err)
{
	size_t size;
	FILE *out = open_memstream(&repro->ktap, &size);

	if (!out)
		return jp_fail(err, ENOMEM, "out of memory");
	jp_repro_judge(repro, repro->stage, &repro->result);
	jp_ktap_head(out, 1);
	jp_ktap_result(out, 1, &repro->result);
	return jp_shortage_close(out, &repro->ktap) ? jp_fail(err, ENOMEM, "out of memory") : 0;
}

static void print_summary(const struct repro_request *options, const struct jp_repro *repro,
			  uint64_t size)
{
	jp_printable_put(stdout, options->output);
	printf(": %s, %s, %.1f MB\n", repro->cas->name, jp_outcome_text(repro->result.outcome),
	       (double)size / 1e6);
	for (size_t i = 0; i < repro->left_out.count; i++)
		jp_ktap_comment(stdout,
				"left out, no part of a case's folder: ", repro->left_out.words[i]);
	for (size_t i = 0; i < repro->unreduced.count; i++)
		jp_ktap_comment(stdout, "cannot be read to its end, and is packed as it is: ",
				repro->unreduced.words[i]);
}

static void free_repro(struct jp_repro *repro)
{
	jp_repro_close(repro);
	jp_word_set_free(&repro->files);
	jp_word_set_free(&repro->left_out);
	jp_word_set_free(&repro->unreduced);
	jp_reduced_free(&repro->reduced);
	jp_portable_free(&repro->portable);
	jp_findings_free(&repro->result.findings);
	free(repro->environment);
	free(repro->ktap);
}

/* State of making an archive of a case's folder. */
struct packing {
	const struct repro_request *options;
	const struct jp_cases *cases;
	struct jp_repro repro;
	struct jp_new_file file;
	int original, output; /* descriptors of the case's folder and of the archive */
	char folder[PATH_MAX], adapters[PATH_MAX];
};

/* Copies the case's folder into the folder @stage, and opens the output, before privileges are
 * dropped. */
static int prepare_packing(struct packing *packing, const char *folder, const char *stage,
			   struct jp_error *err)
{
	struct jp_repro *repro = &packing->repro;
	int ret;

	packing->original = open_folder(folder, packing->options->name, packing->folder,
					sizeof(packing->folder), err);
	if (packing->original < 0)
		return packing->original;
	jp_profilers_folder(packing->adapters, sizeof(packing->adapters));
	snprintf(repro->stage, sizeof(repro->stage), "%s/case", stage);
	if (mkdir(repro->stage, 0700))
		return jp_fail(err, errno, "%s: %s", repro->stage, strerror(errno));
	ret = jp_repro_copy(repro, packing->original, packing->folder, err)
		      ?: jp_portable_make(&repro->portable, err);
	if (ret)
		return ret;
	packing->output = jp_new_file_open(&packing->file, packing->options->output, 0600, err);
	/* Report a shortage of memory or disk space now, because judging resets the note about
	 * it. */
	ret = packing->output < 0 ? packing->output
				  : jp_shortage_describe(err->text, sizeof(err->text));
	if (ret)
		jp_new_file_discard(&packing->file);
	return ret;
}

/* Judges and packs the copied files, which are untrusted, without privileges. @original: path of
 * the case's folder that other users cannot replace. */
static int pack(struct packing *packing, const char *original, struct jp_error *err)
{
	const struct repro_request *options = packing->options;
	struct jp_cases *own_cases = jp_case_folder_definition(packing->folder, err);
	struct jp_repro *repro = &packing->repro;
	uint64_t packed = 0;
	size_t size;
	int ret = own_cases ? 0 : -EINVAL;

	if (own_cases && strcmp(own_cases->cases[0].name, options->name) != 0)
		ret = jp_fail(err, EINVAL, "%s: holds the case '%s'; expected '%s'",
			      packing->folder, own_cases->cases[0].name, options->name);
	if (!ret) {
		repro->cas = options->expected ? jp_cases_find(packing->cases, options->name)
					       : &own_cases->cases[0];
		ret = jp_repro_stage(repro, original, err) ?: judge_copy(repro, err);
	}
	if (!ret) {
		repro->environment = jp_run_dir_read(repro->stage, "env.json", &size);
		ret = jp_repro_pack(repro, packing->adapters, &packing->file, packing->output,
				    &packed, err);
	}
	if (!ret)
		print_summary(options, repro, packed);
	jp_cases_free(own_cases);
	return ret;
}

static int report_status(int ret, const struct jp_error *err)
{
	return ret ? jp_command_fail("repro", err) : JP_EXIT_OK;
}

/* Continues in a confined process, as jp_reading_begin() does. Returns as it does. */
static bool begin_reading(const struct packing *packing, const char *original, int *status)
{
	const struct jp_portable *portable = &packing->repro.portable;
	jp_cleanup_free struct jp_readable_file *files =
		calloc(portable->nr_files + 1, sizeof(*files));
	const struct jp_confine confine = {
		.readable = {.input = original,
			     .folders = {packing->folder, packing->repro.stage, packing->adapters},
			     .files = files,
			     .nr_files = files ? portable->nr_files : 0}};

	for (size_t i = 0; i < confine.readable.nr_files; i++)
		files[i] = (struct jp_readable_file){portable->files[i], -1};
	jp_readable_sort(files, confine.readable.nr_files);
	return jp_reading_begin_with("repro", &confine, status);
}

/* Packs the case's folder in @folder. @stage: an empty folder for the copy. Returns the exit
 * status. */
static int pack_case_folder(const struct repro_request *options, const struct jp_cases *cases,
			    const char *folder, const char *stage)
{
	static struct packing packing;
	struct jp_error err = {""};
	char original[40];
	int ret, status;

	packing.options = options;
	packing.cases = cases;
	ret = prepare_packing(&packing, folder, stage, &err);
	status = report_status(ret, &err);
	snprintf(original, sizeof(original), "/proc/self/fd/%d", packing.original);
	if (!ret && !begin_reading(&packing, original, &status))
		status = report_status(pack(&packing, original, &err), &err);
	if (packing.original > 0)
		close(packing.original);
	free_repro(&packing.repro);
	return status;
}

static int repro(int argc, char **argv)
{
	struct jp_run_dir work_dir = {0}, run_dir = {0};
	struct repro_request options = {0};
	struct jp_cases *cases;
	struct jp_error err = {""};
	int ret, status;

	if (!parse(&options, argc, argv, &status))
		return status;
	if (!options.failed_case && !jp_command_can_record("repro", &status))
		return status;
	cases = jp_cases_load(options.expected, &err);
	if (cases && (!options.failed_case || options.expected) &&
	    !jp_cases_find(cases, options.name)) {
		jp_cleanup_arguments struct jp_arguments names = {0};
		char hint[120];

		jp_cases_list_names(cases, &names);
		jp_fail(&err, ENOENT, "no case '%s'%s", options.name,
			jp_globs_hint(options.name, &names, hint, sizeof(hint)));
		fprintf(stderr, "jitproof repro: %s (see jitproof list)\n", err.text);
		jp_cases_free(cases);
		return JP_EXIT_USAGE;
	}
	if (cases && jp_fork_and_clean_up("repro", &status)) {
		jp_cases_free(cases);
		return status;
	}
	ret = cases ? 0 : -EINVAL;
	if (!ret && !options.failed_case)
		ret = jp_make_removable_folder(&run_dir, NULL, &err)
			      ?: run_case_first(&options, jp_cases_find(cases, options.name),
						&run_dir, &err);
	ret = ret ?: jp_make_removable_folder(&work_dir, NULL, &err);
	status = report_status(ret, &err);
	if (!ret)
		status = pack_case_folder(&options, cases,
					  options.failed_case ? options.failed_case : run_dir.path,
					  work_dir.path);
	if (run_dir.path[0])
		jp_run_dir_remove(run_dir.path);
	if (work_dir.path[0])
		jp_run_dir_remove(work_dir.path);
	jp_cases_free(cases);
	jp_interrupt_die();
	return status;
}

JP_DEFINE(command, repro_command) = {
	.name = "repro",
	.synopsis = "repro [OPTION...] CASE -o FILE",
	.help = "pack a case, its run and the judge into a bug report",
	.run = repro,
};
