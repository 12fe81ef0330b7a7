// SPDX-License-Identifier: GPL-2.0-only
#include "harness/outcome/case_folder.h"

#include <stdlib.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/cleanup.h"
#include "harness/base/number.h"
#include "harness/base/path.h"
#include "harness/base/untrusted_file.h"
#include "harness/format/rundir/run_dir.h"

bool jp_is_case_folder(const char *dir)
{
	char path[4096];
	struct stat status;

	return !jp_path_build(path, sizeof(path), NULL, "%s/case", dir) &&
	       lstat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

struct jp_cases *jp_case_folder_definition(const char *dir, struct jp_error *err)
{
	size_t size;
	jp_cleanup_free char *text = jp_run_dir_read(dir, "case", &size);
	struct jp_cases *cases;
	char file[4096];

	if (!text) {
		jp_fail(err, errno, "%s/case: %s", dir, strerror(errno));
		return NULL;
	}
	snprintf(file, sizeof(file), "%s/case", dir);
	cases = jp_cases_parse(NULL, file, NULL, text, size, err);
	if (cases && cases->nr_cases != 1) {
		jp_fail(err, EINVAL, "%s: holds %zu cases; expected one", file, cases->nr_cases);
		jp_cases_free(cases);
		return NULL;
	}
	return cases;
}

/* Returns whether the runner wrote `watched`: it does so when all files are complete. */
static bool is_watched(const char *dir)
{
	char path[4096];

	return !jp_path_build(path, sizeof(path), NULL, "%s/watched", dir) &&
	       jp_untrusted_check_exists(path) != -ENOENT;
}

/* Reads the outcome that the runner recorded for a case that left nothing to judge. Returns whether
 * there is such an outcome. */
static bool read_outcome(const char *dir, struct jp_result *result)
{
	static const enum jp_outcome without_judge[] = {JP_SKIP, JP_ERROR, JP_TIMEOUT};
	size_t size, length;
	jp_cleanup_free char *text = jp_run_dir_read(dir, "outcome", &size);
	const char *reason;

	if (!text)
		return false;
	reason = strchr(text, ' ');
	length = reason ? (size_t)(reason - text) : size;
	result->outcome = JP_ERROR;
	snprintf(result->reasons, sizeof(result->reasons), "%s/outcome: unknown outcome", dir);
	for (size_t i = 0; i < sizeof(without_judge) / sizeof(without_judge[0]); i++) {
		const char *name = jp_outcome_text(without_judge[i]);

		if (strlen(name) != length || strncmp(name, text, length) != 0)
			continue;
		result->outcome = without_judge[i];
		snprintf(result->reasons, sizeof(result->reasons), "%s", reason ? reason + 1 : "");
		if (result->outcome == JP_SKIP && is_watched(dir)) {
			result->outcome = JP_ERROR;
			snprintf(result->reasons, sizeof(result->reasons),
				 "%s/outcome: SKIP, and `watched` states that the capture ended",
				 dir);
		}
	}
	return true;
}

/* Returns the duration of the case in seconds; 0: unknown. */
static double read_seconds(const char *dir)
{
	size_t size;
	jp_cleanup_free char *text = jp_run_dir_read(dir, "seconds", &size);
	const char *pos = text;
	double seconds;

	return pos && jp_number_take_real(&pos, &seconds) && seconds < 1e9 ? seconds : 0;
}

void jp_case_folder_judge(const struct jp_case *cas, const char *dir, struct jp_result *result)
{
	result->cas = cas;
	if (!read_outcome(dir, result))
		jp_judge_case(cas, dir, result);
	result->seconds = read_seconds(dir);
}

static int find_folders(struct jp_arguments *folders, const char *dir, int depth)
{
	struct dirent **names;
	int count, ret = 0;

	if (jp_is_case_folder(dir)) {
		jp_arguments_add(folders, "%s", dir);
		return folders->failed ? -ENOMEM : 0;
	}
	if (depth == 2)
		return 0;
	count = scandir(dir, &names, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char path[4096];
		struct stat status;

		if (!ret && names[i]->d_name[0] != '.' &&
		    !jp_path_build(path, sizeof(path), NULL, "%s/%s", dir, names[i]->d_name) &&
		    lstat(path, &status) == 0 && S_ISDIR(status.st_mode))
			ret = find_folders(folders, path, depth + 1);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
	return count < 0 ? -errno : ret;
}

int jp_case_folders_find(struct jp_arguments *folders, const char *dir)
{
	return find_folders(folders, dir, 0);
}
