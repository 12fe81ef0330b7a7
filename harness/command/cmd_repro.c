// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/outcome/case_folder.h"
#include "harness/command/command.h"
#include "harness/command/run_options.h"
#include "harness/base/interrupt.h"
#include "harness/report/ktap.h"
#include "harness/capture/adapter.h"
#include "harness/repro/repro.h"
#include "harness/format/rundir/run_dir.h"
#include "harness/run/cases.h"
#include "harness/run/runner.h"
#include "harness/repro/tar.h"

static const char usage_text[] =
	"usage: jitproof repro CASE -o FILE [--from DIR] [--expected DIR] [--seed N]\n"
	"  CASE            the name of one case\n"
	"  -o FILE         the archive, a plain tar; written over where it is there\n"
	"  --from DIR      pack what this run directory, or this folder of the case, holds;\n"
	"                  else the case is run first\n"
	"  --expected DIR  take the case's definition from the files in DIR\n"
	"  --seed N        of the run\n";

struct options {
	struct jp_run_options run;
	const char *name, *from;
};

/* 0, 1: help was asked for, -1: usage was printed. */
static int parse(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {
		{"from", required_argument, NULL, 'f'},
		{"expected", required_argument, NULL, 'e'},
		{"seed", required_argument, NULL, 'n'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option, ret;

	options->run = (struct jp_run_options){
		.command = "repro", .usage = usage_text, .seed = jp_run_seed()};
	while ((option = getopt_long(argc, argv, ":o:h", longs, NULL)) != -1) {
		switch (option) {
		case 'f':
			options->from = optarg;
			break;
		default:
			ret = jp_run_option(&options->run, option, argv);
			if (ret)
				return ret;
		}
	}
	if (optind + 1 != argc)
		return jp_run_usage(&options->run, "expected one case, found",
				    optind < argc ? argv[optind + 1] : "");
	options->name = argv[optind];
	if (!options->run.output)
		return jp_run_usage(&options->run, "expected -o FILE for", options->name);
	return 0;
}

/* Runs the case into a run directory of ours; @result is what came out of it. */
static int run_first(const struct options *options, const struct jp_case *cas,
		     const struct jp_run_dir *dir, struct jp_error *err)
{
	struct jp_runner runner = {0};
	struct jp_result result = {0};
	char path[4096];
	int ret = jp_runner_open(&runner, options->run.seed, err);

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

/* The case's folder @path within @from, which may be that itself: open, through no link in it. */
static int open_folder(const char *from, const char *name, char *path, size_t size,
		       struct jp_error *err)
{
	char study[PATH_MAX];
	int outer, inner, fd;

	snprintf(path, size, "%s", from);
	fd = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return jp_fail(err, errno, "%s: %s", from, strerror(errno));
	if (jp_case_folder_is(from))
		return fd;
	outer = fd;
	snprintf(study, sizeof(study), "%.*s", (int)strcspn(name, "/"), name);
	inner = openat(outer, study, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	close(outer);
	fd = inner < 0 ? -1
		       : openat(inner, name + strlen(study) + 1,
				O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (inner >= 0)
		close(inner);
	if ((size_t)snprintf(path, size, "%s/%s", from, name) >= size || fd < 0) {
		if (fd >= 0)
			close(fd);
		return jp_fail(err, ENOENT,
			       "%s: the case '%s' is not in it; expected a run directory, or the "
			       "folder of the case, without links",
			       from, name);
	}
	return fd;
}

static int judge(struct jp_repro *repro, struct jp_error *err)
{
	size_t size;
	FILE *out = open_memstream(&repro->seen, &size);

	if (!out)
		return jp_fail(err, ENOMEM, "out of memory");
	jp_repro_judge(repro, repro->stage, &repro->result);
	jp_ktap_head(out, 1);
	jp_ktap_result(out, 1, &repro->result);
	fclose(out);
	return 0;
}

typedef void (*put_repro)(FILE *out, const struct jp_repro *repro);

static int pack_text(struct jp_tar *tar, const char *root, const char *name, bool runs,
		     put_repro put, const struct jp_repro *repro, struct jp_error *err)
{
	char path[512], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int ret;

	if (!out)
		return jp_fail(err, ENOMEM, "out of memory");
	put(out, repro);
	fclose(out);
	snprintf(path, sizeof(path), "%s/%s", root, name);
	ret = jp_tar_file(tar, path, runs, text, size, err);
	free(text);
	return ret;
}

static void put_definition(FILE *out, const struct jp_repro *repro)
{
	jp_repro_definition(out, repro->cas);
}

static int pack_folder(struct jp_tar *tar, const char *root, const char *name, struct jp_error *err)
{
	char path[2048];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return jp_tar_folder(tar, path, err);
}

static int pack_case(struct jp_tar *tar, const char *root, const struct jp_repro *repro,
		     struct jp_error *err)
{
	char path[4096], name[1024], before[64] = "";
	int ret = pack_folder(tar, root, "case", err);

	for (size_t i = 0; i < repro->files.count && !ret; i++) {
		const char *file = repro->files.words[i], *slash = strchr(file, '/');

		if (slash && strncmp(before, file, (size_t)(slash - file) + 1) != 0) {
			snprintf(before, sizeof(before), "%.*s", (int)(slash - file) + 1, file);
			snprintf(name, sizeof(name), "case/%.*s", (int)(slash - file), file);
			ret = pack_folder(tar, root, name, err);
		}
		snprintf(path, sizeof(path), "%s/%s", repro->stage, file);
		snprintf(name, sizeof(name), "%s/case/%s", root, file);
		if (!ret)
			ret = jp_tar_copy(tar, name, false, path, err);
	}
	return ret;
}

/* A library or a loader lies behind links; it is what we run ourselves. */
static int pack_library(struct jp_tar *tar, const char *root, const char *name, const char *path,
			struct jp_error *err)
{
	char real[PATH_MAX], place[1024];

	if (!realpath(path, real))
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	snprintf(place, sizeof(place), "%s/%s", root, name);
	return jp_tar_copy(tar, place, true, real, err);
}

static int pack_program(struct jp_tar *tar, const char *root, const struct jp_repro *repro,
			struct jp_error *err)
{
	const struct jp_portable *portable = &repro->portable;
	char name[512];
	int ret;

	snprintf(name, sizeof(name), "%s/jitproof", root);
	ret = jp_tar_file(tar, name, true, portable->program, portable->size, err);
	if (ret || !portable->loader)
		return ret;
	ret = pack_folder(tar, root, "libraries", err);
	for (size_t i = 0; i < portable->libraries.count && !ret; i++) {
		const char *path = portable->libraries.words[i];

		snprintf(name, sizeof(name), "libraries/%s", strrchr(path, '/') + 1);
		ret = pack_library(tar, root, name, path, err);
	}
	return ret ? ret : pack_library(tar, root, "loader", portable->loader, err);
}

static int adapters(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > 3 &&
	       strcmp(entry->d_name + length - 3, ".py") == 0;
}

static int pack_profilers(struct jp_tar *tar, const char *root, struct jp_error *err)
{
	char folder[PATH_MAX], path[PATH_MAX + 300], name[512];
	struct dirent **names = NULL;
	int count, ret;

	jp_profilers_folder(folder, sizeof(folder));
	count = scandir(folder, &names, adapters, alphasort);
	ret = pack_folder(tar, root, "profiler", err);
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
		snprintf(name, sizeof(name), "profiler/%.200s", names[i]->d_name);
		if (!ret)
			ret = pack_library(tar, root, name, path, err);
		free(names[i]);
	}
	free(names);
	return ret;
}

/* What was at @path stays until the whole archive can take its place. */
static int pack(const struct jp_repro *repro, const char *path, uint64_t *size,
		struct jp_error *err)
{
	char root[256], definition[256], part[PATH_MAX];
	struct jp_output *output;
	struct jp_tar tar = {NULL};
	struct stat there;
	int ret, closed;

	if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode))
		return jp_fail(err, EINVAL, "%s: is there and no regular file", path);
	if (snprintf(part, sizeof(part), "%s.part", path) >= (int)sizeof(part))
		return jp_fail(err, ENAMETOOLONG, "%s: %s", path, strerror(ENAMETOOLONG));
	output = jp_output_create(part, err);
	if (!output)
		return -EIO;
	tar.output = output;
	snprintf(root, sizeof(root), "%s-%s", repro->cas->study,
		 repro->cas->name + strlen(repro->cas->study) + 1);
	snprintf(definition, sizeof(definition), "expected/%s", repro->cas->study);
	ret = jp_tar_folder(&tar, root, err);
	if (!ret)
		ret = pack_text(&tar, root, "README", false, jp_repro_readme, repro, err);
	if (!ret)
		ret = pack_case(&tar, root, repro, err);
	if (!ret)
		ret = pack_folder(&tar, root, "expected", err);
	if (!ret)
		ret = pack_text(&tar, root, definition, false, put_definition, repro, err);
	if (!ret)
		ret = pack_program(&tar, root, repro, err);
	if (!ret)
		ret = pack_profilers(&tar, root, err);
	if (!ret)
		ret = pack_text(&tar, root, "reproduce", true, jp_repro_script, repro, err);
	jp_tar_end(&tar);
	*size = jp_output_at(output);
	closed = jp_output_close(output, ret ? NULL : err);
	if (!ret && !closed && rename(part, path))
		ret = jp_fail(err, errno, "%s: %s", path, strerror(errno));
	if (ret || closed)
		unlink(part);
	return ret ? ret : closed;
}

static void tell(const struct options *options, const struct jp_repro *repro, uint64_t size)
{
	printf("%s: %s, %s, %.1f MB\n", options->run.output, repro->cas->name,
	       jp_outcome_text(repro->result.outcome), (double)size / 1e6);
	for (size_t i = 0; i < repro->left_out.count; i++)
		jp_ktap_comment(stdout,
				"left out, no part of a case's folder: ", repro->left_out.words[i]);
	for (size_t i = 0; i < repro->unreduced.count; i++)
		jp_ktap_comment(stdout, "cannot be read to its end, and is packed as it is: ",
				repro->unreduced.words[i]);
}

static void free_repro(struct jp_repro *repro)
{
	jp_word_set_free(&repro->files);
	jp_word_set_free(&repro->left_out);
	jp_word_set_free(&repro->unreduced);
	jp_reduced_free(&repro->reduced);
	jp_portable_free(&repro->portable);
	jp_findings_free(&repro->result.findings);
	free(repro->environment);
	free(repro->seen);
}

/* Packs the case's folder within @from, by way of the empty folder @stage. */
static int pack_from(const struct options *options, const struct jp_cases *cases, const char *from,
		     const char *stage, struct jp_error *err)
{
	struct jp_repro repro = {0};
	struct jp_cases *own = NULL;
	char folder[PATH_MAX];
	uint64_t size_packed = 0;
	size_t size;
	int ret, fd = open_folder(from, options->name, folder, sizeof(folder), err);

	if (fd < 0)
		return fd;
	own = jp_case_folder_definition(folder, err);
	ret = own ? 0 : -EINVAL;
	if (own && strcmp(own->cases[0].name, options->name) != 0)
		ret = jp_fail(err, EINVAL, "%s: holds the case '%s'; expected '%s'", folder,
			      own->cases[0].name, options->name);
	if (!ret) {
		repro.cas = options->run.expected ? jp_cases_find(cases, options->name)
						  : &own->cases[0];
		snprintf(repro.stage, sizeof(repro.stage), "%s/case", stage);
		if (mkdir(repro.stage, 0700))
			ret = jp_fail(err, errno, "%s: %s", repro.stage, strerror(errno));
	}
	if (!ret)
		ret = jp_repro_stage(&repro, fd, folder, err);
	close(fd);
	if (!ret)
		ret = judge(&repro, err);
	if (!ret)
		ret = jp_portable_make(&repro.portable, err);
	if (!ret) {
		repro.environment = jp_run_dir_read(repro.stage, "env.json", &size);
		ret = pack(&repro, options->run.output, &size_packed, err);
	}
	if (!ret)
		tell(options, &repro, size_packed);
	free_repro(&repro);
	jp_cases_free(own);
	return ret;
}

static int repro(int argc, char **argv)
{
	struct jp_run_dir work = {0}, ran = {0};
	struct options options = {0};
	struct jp_cases *cases;
	struct jp_error err = {""};
	int ret = parse(argc, argv, &options);

	if (ret)
		return ret > 0 ? JP_EXIT_OK : JP_EXIT_USAGE;
	cases = jp_cases_load(options.run.expected, &err);
	if (cases && (!options.from || options.run.expected) &&
	    !jp_cases_find(cases, options.name)) {
		fprintf(stderr, "jitproof repro: no case '%s' (see jitproof list)\n", options.name);
		jp_cases_free(cases);
		return JP_EXIT_USAGE;
	}
	ret = cases ? 0 : -EINVAL;
	if (!ret && !options.from)
		ret = jp_run_dir_make(&ran, NULL, &err);
	if (!ret && !options.from)
		ret = run_first(&options, jp_cases_find(cases, options.name), &ran, &err);
	if (!ret)
		ret = jp_run_dir_make(&work, NULL, &err);
	if (!ret)
		ret = pack_from(&options, cases, options.from ? options.from : ran.path, work.path,
				&err);
	if (ran.path[0])
		jp_run_dir_remove(ran.path);
	if (work.path[0])
		jp_run_dir_remove(work.path);
	jp_cases_free(cases);
	jp_interrupt_die();
	if (ret)
		fprintf(stderr, "jitproof repro: %s\n", err.text);
	return ret ? JP_EXIT_BROKEN : JP_EXIT_OK;
}

static const struct jp_command repro_command = {
	.name = "repro",
	.synopsis = "repro CASE -o FILE [--from DIR]",
	.help = "pack a case, its run and the judge into a bug report",
	.run = repro,
};
JP_REGISTER(command, repro_command);
