// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/command.h"
#include "harness/judge_file.h"
#include "harness/report.h"
#include "harness/run_dir.h"

/* Case folders of a run directory, in the order of names. */
struct folders {
	char **paths;
	size_t count;
};

static bool has(const char *dir, const char *name)
{
	char path[4096];
	struct stat status;

	return (size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) < sizeof(path) &&
	       lstat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

static int add_folder(struct folders *folders, const char *path)
{
	char **grown = realloc(folders->paths, (folders->count + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	folders->paths = grown;
	grown[folders->count] = strdup(path);
	return grown[folders->count++] ? 0 : -ENOMEM;
}

/* A folder that holds `case` is a case; others are looked into, two levels deep. */
static int find_cases(struct folders *folders, const char *dir, int depth)
{
	struct dirent **names;
	int count, ret = 0;

	if (has(dir, "case"))
		return add_folder(folders, dir);
	if (depth == 2)
		return 0;
	count = scandir(dir, &names, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char path[4096];
		struct stat status;

		if (!ret && names[i]->d_name[0] != '.' &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name) <
			    sizeof(path) &&
		    lstat(path, &status) == 0 && S_ISDIR(status.st_mode))
			ret = find_cases(folders, path, depth + 1);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
	return count < 0 ? -errno : ret;
}

/* The case that @dir was run as, as its own definition says. */
static struct jp_cases *read_case(const char *dir, struct jp_error *err)
{
	size_t size;
	char *text = jp_run_dir_read(dir, "case", &size), file[4096];
	struct jp_cases *cases;

	snprintf(file, sizeof(file), "%s/case", dir);
	if (!text) {
		jp_fail(err, errno, "%s: %s", file, strerror(errno));
		return NULL;
	}
	cases = jp_cases_parse(NULL, file, NULL, text, size, err);
	free(text);
	if (cases && cases->nr_cases != 1) {
		jp_fail(err, EINVAL, "%s: holds %zu cases; expected one", file, cases->nr_cases);
		jp_cases_free(cases);
		return NULL;
	}
	return cases;
}

/* What the run itself found out when there was nothing to judge. True when it did. */
static bool take_outcome(const char *dir, struct jp_result *result)
{
	static const enum jp_outcome without_judge[] = {JP_SKIP, JP_ERROR, JP_TIMEOUT};
	size_t size, length;
	char *text = jp_run_dir_read(dir, "outcome", &size), *why;

	if (!text)
		return false;
	why = strchr(text, ' ');
	length = why ? (size_t)(why - text) : size;
	result->outcome = JP_ERROR;
	snprintf(result->why, sizeof(result->why), "%s/outcome: no outcome that a run has", dir);
	for (size_t i = 0; i < sizeof(without_judge) / sizeof(without_judge[0]); i++) {
		const char *name = jp_outcome_text(without_judge[i]);

		if (strlen(name) != length || strncmp(name, text, length) != 0)
			continue;
		result->outcome = without_judge[i];
		snprintf(result->why, sizeof(result->why), "%s", why ? why + 1 : "");
	}
	free(text);
	return true;
}

/* How long the case took when it ran; 0: its folder does not say. */
static double seconds_of(const char *dir)
{
	size_t size;
	char *text = jp_run_dir_read(dir, "seconds", &size), *end;
	double seconds = text ? strtod(text, &end) : 0;

	if (!text || end == text || !(seconds >= 0 && seconds < 1e9))
		seconds = 0;
	free(text);
	return seconds;
}

/* How many cases @dir was to hold, as its ktap.txt has announced; 0: it says nothing. A run that
 * was cut short must not look whole. */
static size_t announced(const char *dir)
{
	unsigned long plan = 0;
	char path[4096];
	struct stat status;
	FILE *file;
	int fd;

	snprintf(path, sizeof(path), "%s/ktap.txt", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	file = fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode) ? fdopen(fd, "r") : NULL;
	if (file && (fscanf(file, "KTAP version 1 1..%lu", &plan) != 1 || plan > 10000))
		plan = 0;
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	return plan;
}

static int judge_folders(const struct folders *folders, size_t plan, const struct jp_cases *known,
			 bool definitions_from_known, FILE *results)
{
	struct jp_cases **own = calloc(folders->count, sizeof(struct jp_cases *));
	struct jp_report report = {.jsonl = results};
	struct jp_error err = {""};
	int status = JP_EXIT_BROKEN;

	if (plan < folders->count)
		plan = folders->count;
	if (!own || jp_report_begin(&report, known, plan))
		goto out;
	for (size_t i = 0; i < folders->count; i++) {
		const char *dir = folders->paths[i];
		struct jp_result *result = jp_report_next(&report);
		const struct jp_case *cas;

		own[i] = read_case(dir, &err);
		if (!own[i]) {
			printf("Bail out! %s\n", err.text);
			goto out;
		}
		cas = &own[i]->cases[0];
		if (definitions_from_known) {
			cas = jp_cases_find(known, own[i]->cases[0].name);
			if (!cas) {
				printf("Bail out! %s: no case '%s' is known\n", dir,
				       own[i]->cases[0].name);
				goto out;
			}
		}
		result->cas = cas;
		if (!take_outcome(dir, result))
			jp_judge_case(cas, dir, result);
		result->seconds = seconds_of(dir);
		jp_report_tell(&report, NULL);
	}
	status = jp_report_end(&report);
	if (folders->count < plan) {
		jp_report_cut_short(&report, "cases are missing that ktap.txt has announced");
		status = JP_EXIT_BAD;
	}
out:
	jp_report_free(&report);
	for (size_t i = 0; own && i < folders->count; i++)
		jp_cases_free(own[i]);
	free(own);
	return status;
}

static int judge_dir(const char *dir, const char *expected, const char *results)
{
	struct folders folders = {0};
	struct jp_error err = {""};
	struct jp_cases *known = jp_cases_load(expected, &err);
	FILE *out = NULL;
	int status = JP_EXIT_BROKEN;

	if (!known)
		fprintf(stderr, "jitproof judge: %s\n", err.text);
	else if (results && !(out = fopen(results, "wxe")))
		fprintf(stderr, "jitproof judge: %s: %s\n", results, strerror(errno));
	else if (find_cases(&folders, dir, 0))
		fprintf(stderr, "jitproof judge: %s: %s\n", dir, strerror(errno));
	else if (!folders.count)
		fprintf(stderr,
			"jitproof judge: %s: no case is in it; expected a run directory or a "
			"case's "
			"folder\n",
			dir);
	else
		status = judge_folders(&folders, announced(dir), known, expected, out);
	for (size_t i = 0; i < folders.count; i++)
		free(folders.paths[i]);
	free(folders.paths);
	jp_cases_free(known);
	return status;
}

static bool is_dir(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The value of --@name, given as --name=VALUE or --name VALUE; *@at moves to its last word. */
static const char *value_of(const char *name, int argc, char **argv, int *at)
{
	size_t length = strlen(name);

	if (strncmp(argv[*at], name, length) != 0)
		return NULL;
	if (argv[*at][length] == '=')
		return argv[*at] + length + 1;
	return argv[*at][length] || *at + 1 >= argc ? NULL : argv[++*at];
}

static int judge(int argc, char **argv)
{
	const char *expected = NULL, *results = NULL, *value;
	int at = 1;

	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		jp_judge_usage(stdout);
		return JP_EXIT_OK;
	}
	for (; at < argc - 1; at++) {
		if ((value = value_of("--expected", argc, argv, &at)))
			expected = value;
		else if ((value = value_of("--results", argc, argv, &at)))
			results = value;
		else
			break;
	}
	if (at == argc - 1 && is_dir(argv[at]))
		return judge_dir(argv[at], expected, results);
	return jp_judge_file(argc, argv);
}

static const struct jp_command judge_command = {
	.name = "judge",
	.synopsis = "judge [--expected DIR] [--results FILE] DIR | [OPTION...] FILE",
	.help = "judge a run directory again, or any perf.data without truth",
	.run = judge,
};
JP_REGISTER(command, judge_command);
