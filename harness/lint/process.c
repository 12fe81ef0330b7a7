// SPDX-License-Identifier: GPL-2.0-only
#include "harness/lint/process.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/base/number.h"
#include "harness/base/path.h"
#include "harness/base/proc_stat.h"
#include "harness/base/sort.h"

enum { MOST_MAPS = 64 << 20 };

/* Returns the last number in the line @name of @status, or @fallback. */
static int64_t parse_last_number(const char *status, const char *name, int64_t fallback)
{
	const char *line = strstr(status, name), *end = line ? strchr(line + 1, '\n') : NULL;
	const char *tab = end ? memrchr(line, '\t', (size_t)(end - line)) : NULL;
	uint64_t number;

	return tab && (tab++, jp_number_take(&tab, 10, UINT32_MAX, &number)) ? (int64_t)number
									     : fallback;
}

/* Reads the process's pid and user as the process's own files show them. The owner of /proc/PID is
 * not enough: it is root after a change of user. */
static void read_identity(struct jp_lint_process *process)
{
	jp_cleanup_free char *text = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/status", process->pid);
	text = jp_file_read(path, 1 << 16, NULL, NULL);
	process->own_pid = (uint32_t)parse_last_number(text ?: "", "\nNSpid:", process->pid);
	process->user = parse_last_number(text ?: "", "\nUid:", -1);
}

/* Reads when the process started. The kernel counts from the boot, suspended time included. */
static void read_start(struct jp_lint_process *process)
{
	const uint64_t now = jp_clock_now(), suspended = jp_clock_ns(CLOCK_BOOTTIME) - now;
	struct jp_proc_stat stat;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/stat", process->pid);
	if (jp_proc_stat_read(path, &stat) && stat.started > suspended)
		process->started = stat.started - suspended;
}

/* Stores the prefix of the process's paths: "/proc/PID/root" in another mount namespace, else "".
 */
static void find_root(uint32_t pid, char *root, size_t size)
{
	char path[64], its_mounts[64] = "", own_mounts[64] = "";

	snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
	*root = '\0';
	if (readlink(path, its_mounts, sizeof(its_mounts) - 1) > 0 &&
	    readlink("/proc/self/ns/mnt", own_mounts, sizeof(own_mounts) - 1) > 0 &&
	    strcmp(its_mounts, own_mounts) != 0)
		snprintf(root, size, "/proc/%u/root", pid);
}

/* Adds an existing jitdump or perf map to the process's list, unless it is there already. */
static int add_file(struct jp_lint_process *process, const char *root, const char *name)
{
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
	bool dump = strncmp(base, "jit-", 4) == 0, map = strncmp(base, "perf-", 5) == 0;
	char ***list = dump ? &process->dumps : &process->perf_maps, **added;
	size_t *count = dump ? &process->nr_dumps : &process->nr_perf_maps;
	size_t length = strlen(base);
	struct jp_text *known_path;
	char path[PATH_MAX];

	map &= length > 4 && strcmp(base + length - 4, ".map") == 0;
	if ((!dump && !map) || *name != '/' ||
	    jp_path_build(path, sizeof(path), NULL, "%s%s", root, name) || access(path, F_OK))
		return 0;
	known_path = jp_text_keep(&process->paths, path, strlen(path));
	if (!known_path || known_path->value)
		return known_path ? 0 : -ENOMEM;
	added = jp_array_push(list, count,
			      dump ? &process->dumps_capacity : &process->perf_maps_capacity);
	if (!added || !(*added = strdup(path)))
		return -ENOMEM;
	known_path->value = known_path; /* a value marks the file as listed */
	return 0;
}

/* Adds the open files of the process: a writer keeps its file open. */
static int add_open_files(struct jp_lint_process *process, const char *root)
{
	char path[64], link[PATH_MAX + 64], name[PATH_MAX];
	jp_cleanup_closedir DIR *dir = NULL;
	int ret = 0;

	snprintf(path, sizeof(path), "/proc/%u/fd", process->pid);
	dir = opendir(path);
	for (struct dirent *entry; dir && !ret && (entry = readdir(dir));) {
		ssize_t length;

		if (jp_path_build(link, sizeof(link), NULL, "%s/%s", path, entry->d_name))
			continue;
		length = readlink(link, name, sizeof(name) - 1);
		if (length <= 0)
			continue;
		name[length] = '\0';
		ret = add_file(process, root, name);
	}
	return ret;
}

static int add_files(struct jp_lint_process *process)
{
	char root[64], path[PATH_MAX], cwd[PATH_MAX];
	ssize_t length;
	int ret = 0;

	find_root(process->pid, root, sizeof(root));
	for (size_t i = 0; i < process->nr_maps && !ret; i++)
		ret = add_file(process, root, process->maps[i].name);
	snprintf(path, sizeof(path), "/tmp/jit-%u.dump", process->own_pid);
	ret = ret ?: add_file(process, root, path);
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", process->own_pid);
	ret = ret ?: add_file(process, root, path);
	snprintf(path, sizeof(path), "/proc/%u/cwd", process->pid);
	length = readlink(path, cwd, sizeof(cwd) - 1);
	cwd[length < 0 ? 0 : length] = '\0';
	if (!ret &&
	    !jp_path_build(path, sizeof(path), NULL, "%s/jit-%u.dump", cwd, process->own_pid))
		ret = add_file(process, root, path);
	return ret ?: add_open_files(process, root);
}

int jp_lint_process_read(uint32_t pid, struct jp_lint_process *process, struct jp_error *err)
{
	jp_cleanup_free char *text = NULL;
	char path[64];
	size_t size;
	int ret;

	*process = (struct jp_lint_process){.pid = pid};
	read_identity(process);
	read_start(process);
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	text = jp_file_read(path, MOST_MAPS, &size, err);
	if (!text)
		return -ESRCH;
	ret = jp_procmaps_parse(text, size, &process->maps, &process->nr_maps, err);
	if (ret)
		return ret;
	return add_files(process) ? jp_fail(err, ENOMEM, "%s: out of memory", path) : 0;
}

JP_ORDER(compare_by_start, struct jp_lint_range, jp_compare(a->start, b->start));

int jp_lint_process(struct jp_lint_process *process, struct jp_lint_findings *findings,
		    struct jp_error *err)
{
	const struct jp_lint_rule *rule = NULL;

	findings->kind = "process";
	findings->entries = process->nr_maps;
	jp_sort(process->published_ranges, process->nr_published, compare_by_start);
	while ((rule = jp_registry_next(JP_LINT_RULE, rule)))
		if (rule->process && jp_lint_begin_rule(findings, rule))
			rule->process(process, findings);
	return findings->failed ? jp_fail(err, ENOMEM, "process %u: out of memory", process->pid)
				: 0;
}

static void free_list(char **list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i]);
	free(list);
}

void jp_lint_process_free(struct jp_lint_process *process)
{
	free_list(process->dumps, process->nr_dumps);
	free_list(process->perf_maps, process->nr_perf_maps);
	free(process->maps);
	free(process->published_ranges);
	jp_text_pool_free(&process->paths);
	*process = (struct jp_lint_process){0};
}
