// SPDX-License-Identifier: GPL-2.0-only
/* Rules about a running process: can a profiler find the names that it publishes? */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "harness/base/search.h"
#include "harness/format/truth/format.h"
#include "harness/lint/findings.h"

static bool is_executable(const struct jp_procmap *map)
{
	return map->prot & JP_PROT_EXEC;
}

/* Returns whether perf looks up names of this memory in the perf map (docs/names.md). */
static bool is_anonymous(const struct jp_procmap *map)
{
	static const char *const names[] = {"[heap]", "/dev/zero", "/anon_hugepage", "[stack",
					    "/SYSV"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(map->name, names[i], strlen(names[i])) == 0)
			return true;
	return !*map->name;
}

/* Returns whether @map is another kind of memory in which runtimes emit code. */
static bool is_named_memory(const struct jp_procmap *map)
{
	return strncmp(map->name, "/memfd:", 7) == 0 || strncmp(map->name, "[anon:", 6) == 0;
}

/* Reports jitdumps that have no executable mapping of their name. Looks names up in a hash table,
 * because a process can map tens of thousands of files. */
static void check_marker(const struct jp_lint_process *process, struct jp_lint_findings *findings)
{
	struct jp_text_pool names = {
		0}; /* file names; they have a value if a mapping of the file is executable */
	struct jp_text *text;

	for (size_t i = 0; i < process->nr_maps && !findings->failed; i++) {
		const char *slash = strrchr(process->maps[i].name, '/');

		if (!slash || !is_executable(&process->maps[i]))
			continue;
		text = jp_text_keep(&names, slash, strlen(slash));
		if (text)
			text->value = text;
		else
			findings->failed = -ENOMEM;
	}
	for (size_t i = 0; i < process->nr_dumps && !findings->failed; i++) {
		const char *slash = strrchr(process->dumps[i], '/');

		text = jp_text_keep(&names, slash, strlen(slash));
		if (!text)
			findings->failed = -ENOMEM;
		else if (!text->value)
			jp_lint_found(
				findings, JP_LINT_WHOLE,
				"%s is not mapped executable: perf finds a jitdump by the record "
				"of that mapping alone",
				process->dumps[i]);
	}
	jp_text_pool_free(&names);
}

static void check_deleted(const struct jp_lint_process *process, struct jp_lint_findings *findings)
{
	for (size_t i = 0; i < process->nr_maps; i++) {
		const char *name = process->maps[i].name, *slash = strrchr(name, '/');

		if (slash && strncmp(slash, "/jit-", 5) == 0 && strstr(slash, ".dump (deleted)"))
			jp_lint_found(findings, process->maps[i].start,
				      "%s: the jitdump was deleted, and with it all names", name);
	}
}

/* Returns how many bytes of @map have published names. */
static uint64_t count_published_bytes(const struct jp_lint_process *process,
				      const struct jp_procmap *map)
{
	const struct jp_lint_range *ranges = process->published_ranges;
	uint64_t to = map->start, bytes = 0;
	size_t i;

	/* Ignore ranges that begin before the mapping. */
	jp_search(i, process->nr_published, ranges[i].start < map->start);
	for (; i < process->nr_published && ranges[i].start < map->end; i++) {
		uint64_t start = ranges[i].start > to ? ranges[i].start : to;
		uint64_t end = ranges[i].end < map->end ? ranges[i].end : map->end;

		if (end <= start)
			continue;
		bytes += end - start;
		to = end;
	}
	return bytes;
}

static void check_names(const struct jp_lint_process *process, struct jp_lint_findings *findings)
{
	for (size_t i = 0; i < process->nr_maps; i++) {
		const struct jp_procmap *map = &process->maps[i];

		if (is_executable(map) && (is_anonymous(map) || is_named_memory(map)) &&
		    !count_published_bytes(process, map))
			jp_lint_found(
				findings, map->start,
				"%" PRIu64 " executable bytes of %s, for which no file has a name",
				map->end - map->start, *map->name ? map->name : "anonymous memory");
	}
}

static void check_unread_map(const struct jp_lint_process *process,
			     struct jp_lint_findings *findings)
{
	if (!process->nr_perf_maps || process->nr_dumps)
		return;
	for (size_t i = 0; i < process->nr_maps; i++) {
		const struct jp_procmap *map = &process->maps[i];
		uint64_t bytes = is_executable(map) && is_named_memory(map)
					 ? count_published_bytes(process, map)
					 : 0;

		if (bytes)
			jp_lint_found(findings, map->start,
				      "%" PRIu64 " bytes of %s have names in the perf map, which "
				      "perf does not read for such memory",
				      bytes, map->name);
	}
}

static const struct jp_lint_rule rules[] = {
	{"process.marker", JP_LINT_ERROR, "the jitdump is not mapped executable",
	 .process = check_marker},
	{"process.deleted", JP_LINT_ERROR, "the jitdump was deleted", .process = check_deleted},
	{"process.no-names", JP_LINT_WARNING, "executable memory for which nothing is published",
	 .process = check_names},
	{"process.unread-map", JP_LINT_ERROR,
	 "the perf map names memory for which perf does not read it", .process = check_unread_map},
};
JP_REGISTER_ROWS(lint_rule, rules);
