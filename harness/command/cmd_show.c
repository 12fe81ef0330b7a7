// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/globs.h"
#include "harness/base/terminal.h"
#include "harness/command/command.h"
#include "harness/command/command_line.h"
#include "harness/command/reading.h"
#include "harness/format/rundir/run_dir.h"
#include "harness/outcome/case_folder.h"
#include "harness/report/story.h"

/* Returns the only folder below @dir whose case matches @word, or NULL and a message. */
static const char *find_case(const struct jp_arguments *folders, const char *dir, char *word,
			     struct jp_error *err)
{
	jp_cleanup_arguments struct jp_arguments names = {0}, globs = {0};
	const char *case_dir = NULL;

	for (size_t i = 0; i < folders->count; i++) {
		const char *name = folders->list[i] + strlen(dir);

		jp_arguments_add(&names, "%s", name + strspn(name, "/"));
	}
	if (jp_globs_read(&globs, &(struct jp_operands){&word, 1}, &names, "case", err))
		return NULL;
	for (size_t i = 0; i < folders->count; i++) {
		if (!jp_globs_match(&globs, names.list[i]))
			continue;
		if (case_dir) {
			jp_fail(err, EINVAL, "'%s' matches %s and others; expected one case", word,
				case_dir + strlen(dir) + strspn(case_dir + strlen(dir), "/"));
			return NULL;
		}
		case_dir = folders->list[i];
	}
	return case_dir;
}

static int show_folder(const char *folder, struct jp_error *err)
{
	static struct jp_result result;
	const unsigned int width = jp_terminal_width(STDOUT_FILENO);
	struct jp_cases *cases;
	int status;

	if (jp_reading_begin("show", folder, NULL, NULL, &status))
		return status;
	cases = jp_case_folder_definition(folder, err);
	if (!cases)
		return jp_command_fail("show", err);
	jp_case_folder_judge(&cases->cases[0], folder, &result);
	jp_story_print(&result, folder, width);
	jp_findings_free(&result.findings);
	jp_cases_free(cases);
	return jp_reading_end("show", JP_EXIT_OK);
}

static int show(int argc, char **argv)
{
	const char *name = NULL, *dir = NULL, *folder;
	jp_cleanup_arguments struct jp_arguments folders = {0};
	struct jp_error err = {""};
	char newest[4096];
	const struct jp_option options[] = {
		{"CASE", .text = &name, .is_required = true,
		 .help = "a name, a part of names, or a pattern that matches one case"},
		{"DIR", .text = &dir,
		 .help = "the run directory; default: the newest one that this user has in "
			 "TMPDIR, or in /tmp"},
		{0}};
	int status;

	if (!jp_command_line(options, argc, argv, &status))
		return status;
	if (!dir && jp_run_dir_newest(newest, sizeof(newest), &err))
		return jp_command_fail_usage("show", "%s", err.text);
	dir = dir ?: newest;
	if (jp_case_folders_find(&folders, dir)) {
		jp_fail(&err, errno, "%s: %s", dir, strerror(errno));
		return jp_command_fail("show", &err);
	}
	folder = find_case(&folders, dir, (char *)name, &err);
	if (folder) {
		status = show_folder(folder, &err);
	} else {
		fprintf(stderr, "jitproof show: %s in %s\n", err.text, dir);
		status = JP_EXIT_USAGE;
	}
	return status;
}

JP_DEFINE(command, show_command) = {
	.name = "show",
	.synopsis = "show CASE [DIR]",
	.help = "show everything about one case of a run",
	.run = show,
};
